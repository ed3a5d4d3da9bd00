import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A position in a bundle, as in the lines of a stack trace: `file:///var/task/index.mjs:1:2345`. */
const PLACE = /(?<file>file:\/\/[^\s:()]+\.mjs):(?<line>\d+):(?<column>\d+)/g;

const maps = new Map<string, SourceMap | undefined>();

/**
 * Node does the same with `--enable-source-maps`, but reads every map at startup, which takes a sixth of the start
 * time. This function reads a map when a fault first needs it.
 */
export function withSourcePositions(stack: string): string {
  return stack.replaceAll(PLACE, (place: string, file: string, line: string, column: string) => {
    const origin = mapOf(file)?.findOrigin(Number(line), Number(column));
    if (origin === undefined || !('fileName' in origin)) return place;
    return `${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

/** Undefined if the map cannot be read, so that the fault is reported anyway. */
function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
