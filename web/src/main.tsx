import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { forcedTransport, Vivavoce } from "@vivavoce/client";
import { Reach } from "./reach/reach";
import { ReachBar } from "./reach/ReachBar";
import { App } from "./ui/App";
import "./ui/page.css";
import "./ui/work.css";
import "./ui/history.css";

const transport = forcedTransport(location.search);
const conversation = new Vivavoce({ url: document.baseURI, transport });
const reach = new Reach(conversation);
conversation.watch();
if (!reach.start()) void conversation.recall().catch(() => undefined); // the server is not there yet, or asks who we are

// A browser has few connections to one server: those that nobody looks at are given back.
const look = () => {
  if (document.visibilityState === "visible") conversation.work.open();
  else conversation.work.close();
};
document.addEventListener("visibilitychange", look);
look();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App conversation={conversation} />
      <ReachBar reach={reach} />
    </StrictMode>,
  );
}
