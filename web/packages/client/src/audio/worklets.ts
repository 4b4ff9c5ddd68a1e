/** What runs in the audio thread, as one file: the server has it as `/worklets.js`. */

import "./capture.worklet.js";
import "./player.worklet.js";
