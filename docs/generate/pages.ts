import { mkdirSync, writeFileSync } from 'node:fs';
import { metricsPage } from './metrics.ts';
import { retentionPage } from './retention.ts';
import { scenariosPage } from './scenarios.ts';
import { settingsPage } from './settings.ts';
import { stateTablesPage } from './state-machine.ts';
import { thirdPartyPage } from './third-party.ts';

/** The tables follow from the code alone, so they need no synth. `generated/docs/` is not in git. */
export const PAGES: readonly (readonly [file: string, text: () => string])[] = [
  ['settings.md', settingsPage],
  ['state-tables.md', stateTablesPage],
  ['metrics.md', metricsPage],
  ['retention.md', retentionPage],
  ['scenarios.md', scenariosPage],
  ['third-party.md', thirdPartyPage],
];

/** @param folder ends with a slash */
export function writePages(folder: URL): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of PAGES) writeFileSync(new URL(file, folder), text());
}
