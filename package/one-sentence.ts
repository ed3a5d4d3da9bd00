/**
 * Ends a process with one sentence if the constructs throw an error that the app does not catch, for example for an
 * invalid setting. Before such an error, Node would print a line of minified code. The CDK CLI shows the sentence.
 * `NODE_DEBUG=payonce` also shows the stack.
 */
import { types } from 'node:util';
import { sentenceOf } from '../local/sentence.mjs';

const FOLDER = new URL('..', import.meta.url).href;

process.on('uncaughtExceptionMonitor', (error: unknown) => {
  if (process.listenerCount('uncaughtException') > 0 || !types.isNativeError(error) || !isThrownHere(error)) return;
  console.error(sentenceOf(error));
  process.exit(1);
});

/** An error of another class is a bug, so Node prints its stack. */
function isThrownHere({ name, stack = '' }: Error): boolean {
  const [origin = ''] = /^ {4}at .*/m.exec(stack) ?? [];
  return name === 'Error' && origin.includes(FOLDER);
}
