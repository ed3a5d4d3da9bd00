import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const PROJECT = resolve(import.meta.dirname, '..', '..');

export function blocksOf(document: string, heading: string, language: string): readonly string[] {
  const text = readFileSync(join(PROJECT, document), 'utf8');
  const [, rest = ''] = text.split(`\n## ${heading}\n`);
  const [section = ''] = rest.split('\n## ');
  const found = [...section.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code);
  if (found.length === 0) throw new Error(`${document} has no ${language} block under "${heading}"`);
  return found;
}
