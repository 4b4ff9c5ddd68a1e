import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { browserConversation } from "./session/browser";
import { App } from "./ui/App";
import "./ui/page.css";

const conversation = browserConversation();
conversation.watch();
addEventListener("pagehide", () => void conversation.stop());

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App conversation={conversation} />
    </StrictMode>,
  );
}
