# Vivavoce in one image: the page is built, then the server installed from its wheel.
# It fetches its models on the first start, into the volume /models (1.3 GB).
#
# Licences: PyAV's wheels, which WebRTC needs, bundle FFmpeg with x264 and x265 (GPL). Running
# this image yourself asks nothing of you; giving it to others does. See docs/deploy.md.

FROM node:22.20.0-bookworm-slim AS page
WORKDIR /build/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY web/ ./
RUN npm run build

FROM python:3.12.12-slim-bookworm AS wheel
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE THIRD-PARTY.md ./
COPY locks/ locks/
COPY web/package-lock.json web/
COPY src/ src/
COPY agents/ agents/
COPY --from=page /build/src/vivavoce/server/static/ src/vivavoce/server/static/
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes -r locks/build.txt \
    && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist .

FROM python:3.12.12-slim-bookworm AS installed
WORKDIR /build
COPY locks/ locks/
COPY --from=wheel /build/dist/ dist/
RUN python -m venv /opt/vivavoce
# With the extras that locks/image.txt has, every file by its hash.
RUN /opt/vivavoce/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes -r locks/image.txt \
    && /opt/vivavoce/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps "vivavoce[engine,tools,delegation,postgres,auth,https,intents,push,wyoming] @ file://$(ls "$PWD"/dist/vivavoce-*.whl)"

FROM python:3.12.12-slim-bookworm
# llama.cpp's OpenMP, which the local brain needs and no wheel brings along.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin vivavoce \
    && install -d -o vivavoce -g vivavoce /data /models /workspace
COPY --from=installed /opt/vivavoce /opt/vivavoce
ENV PATH=/opt/vivavoce/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    VIVAVOCE_HOST=0.0.0.0 \
    VIVAVOCE_PORT=8080 \
    VIVAVOCE_DATA_DIR=/data \
    VIVAVOCE_MODELS_DIR=/models \
    VIVAVOCE_WORKSPACE=/workspace \
    VIVAVOCE_LOG_FORMAT=json
USER 10001:10001
# Not the workspace: settings are read from where the server is started.
WORKDIR /
VOLUME ["/data", "/models", "/workspace"]
EXPOSE 8080
# Up and answering, and not unable to start its brain; `/ready` tells whether the models are there
# too, which may take a while.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['VIVAVOCE_PORT']}/health\", timeout=4)"]
# Without VIVAVOCE_AUTH it refuses to start: beyond loopback it asks who somebody is.
CMD ["vivavoce", "serve"]
