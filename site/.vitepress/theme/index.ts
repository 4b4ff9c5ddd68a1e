// VitePress's own theme, with the fonts of the reader's machine, and diagrams.
import DefaultTheme from "vitepress/theme-without-fonts";
import type { Theme } from "vitepress";
import Diagram from "./Diagram.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("Diagram", Diagram);
  },
} satisfies Theme;
