import { mkdirSync, writeFileSync } from 'node:fs';
import { metricsPage } from './metrics.ts';
import { retentionPage } from './retention.ts';
import { scenariosPage } from './scenarios.ts';
import { settingsPage } from './settings.ts';
import { stateTablesPage } from './state-machine.ts';
import { thirdPartyPage } from './third-party.ts';

/** Pages of `generated/docs/` (not in git): tables that follow from the code alone. They need no synth. */
export const PAGES: readonly (readonly [file: string, text: () => string])[] = [
  ['settings.md', settingsPage],
  ['state-tables.md', stateTablesPage],
  ['metrics.md', metricsPage],
  ['retention.md', retentionPage],
  ['scenarios.md', scenariosPage],
  ['third-party.md', thirdPartyPage],
];

/** Writes the pages. @param folder ends with a slash */
export function writePages(folder: URL): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of PAGES) writeFileSync(new URL(file, folder), text());
}
