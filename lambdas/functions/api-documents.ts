import { readFile } from 'node:fs/promises';
import { documentsApi } from '../api-docs/documents-api.ts';
import { systemDigest } from '../kernel/platform/platform.ts';

/** Not wrapped in `idempotently`: it only reads. */
export const handler = documentsApi((name) => readFile(new URL(name, import.meta.url), 'utf8'), systemDigest);
