/** What the user may choose, and whether everything works. What the server keeps is there once it
 * answers; the rest belongs to this browser. */

import { ReachSettings } from "../reach/ReachSettings";
import { DeviceSettings } from "./DeviceSettings";
import { Grants } from "./Grants";
import { LookSettings } from "./LookSettings";
import { ProfileSettings } from "./ProfileSettings";
import { SelfTest } from "./SelfTest";
import { ServerStatus } from "./ServerStatus";
import { VoiceSettings } from "./VoiceSettings";

export default function SettingsPane() {
  return (
    <div className="grid gap-7" data-testid="settings">
      <VoiceSettings />
      <Grants />
      <DeviceSettings />
      <ProfileSettings />
      <LookSettings />
      <ReachSettings />
      <SelfTest />
      <ServerStatus />
    </div>
  );
}
