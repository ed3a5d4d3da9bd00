import { mkdirSync, writeFileSync } from 'node:fs';
import { scenariosPage } from './scenarios.ts';

/** Pages of `generated/docs/` (not in git): tables that follow from the code alone. They need no synth. */
export const PAGES: readonly (readonly [file: string, text: () => string])[] = [['scenarios.md', scenariosPage]];

/** Writes the pages. @param folder ends with a slash */
export function writePages(folder: URL): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of PAGES) writeFileSync(new URL(file, folder), text());
}
