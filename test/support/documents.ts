import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const PROJECT = resolve(import.meta.dirname, '..', '..');

/** The fenced blocks of one language under a heading of a document, in order. @throws Error when there is none */
export function blocksOf(document: string, heading: string, language: string): readonly string[] {
  const text = readFileSync(join(PROJECT, document), 'utf8');
  const [, rest = ''] = text.split(`\n## ${heading}\n`);
  const [section = ''] = rest.split('\n## ');
  const found = [...section.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code);
  if (found.length === 0) throw new Error(`${document} has no ${language} under "${heading}"`);
  return found;
}
