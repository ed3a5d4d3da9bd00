import { readdir, readFile } from 'node:fs/promises';
import { consoleSignIn } from '../api-docs/console-page.ts';
import { documentsApi } from '../api-docs/documents-api.ts';
import { systemDigest } from '../kernel/platform/platform.ts';

const fileUrl = (name: string) => new URL(name, import.meta.url);

/** Not wrapped in `idempotently`, because this function only reads. */
export const handler = documentsApi(
  (name) => readFile(fileUrl(name), 'utf8'),
  systemDigest,
  () => readdir(fileUrl('console/assets')),
  consoleSignIn(process.env),
);
