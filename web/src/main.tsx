import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { makeClient } from "./app/client";
import { Reach } from "./reach/reach";
import { showTheme } from "./settings/theme";
import { languageWanted, speak } from "./words/i18n";
import "./style/index.css";

const client = makeClient();
const reach = new Reach(client);
reach.start();
showTheme();
const root = document.getElementById("root");
void speak(languageWanted()).then(() => {
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <App client={client} reach={reach} />
    </StrictMode>,
  );
});
