import { defineConfig } from 'vite';

/** All addresses are relative, so the page works under every host, stage and prefix. */
export default defineConfig({
  base: './',
  logLevel: 'warn',
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: false, emptyOutDir: true },
});
