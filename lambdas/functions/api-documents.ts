import { readFile } from 'node:fs/promises';
import { documentsApi } from '../api-docs/documents-api.ts';

export const handler = documentsApi((name) => readFile(new URL(name, import.meta.url), 'utf8'));
