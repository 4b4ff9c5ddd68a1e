"""x"""
from __future__ import annotations
import time
from pathlib import Path
from tests.journeys.flux import told_by
import pytest
@pytest.mark.timeout(600)
def test_all(tmp_path: Path) -> None:
    a=time.time()
    with told_by(tmp_path/"s", "scripted") as told:
        print("took", time.time()-a)
        for n,t in told.items():
            print("=====",n, repr(t.fault))
            for v in t.visits:
                print(v.greeting and v.greeting.text, [(r.text,len(r.sound)/48000,r.calls) for r in v.replies])
                print([ (k, d.get("content") or d.get("payload") or d) for k,d in v.told])
            for tb in ("conversations","messages","intents","goals","tasks"):
                for r in t.rows(tb): print("   ",tb, {k:str(v) for k,v in r.items() if v is not None and k not in ("user_id","created_at","updated_at")})
    print((tmp_path/"s"/"server.log").read_text()[-3000:])
