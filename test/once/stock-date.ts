import { jest } from '@jest/globals';

/** Only `Date` is ours to set; timers and the rest stay real, for the SDK's sake. */
export function fakeDate(): void {
  jest.useFakeTimers({
    doNotFake: [
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setInterval',
      'clearInterval',
      'setTimeout',
      'clearTimeout',
    ],
  });
}
