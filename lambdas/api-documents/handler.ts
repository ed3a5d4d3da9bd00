import { readFile } from 'node:fs/promises';
import { documentsApi } from './documents-api.ts';

export const handler = documentsApi((name) => readFile(new URL(name, import.meta.url), 'utf8'));
