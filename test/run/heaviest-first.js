import Sequencer from '@jest/test-sequencer';
import { weightOf } from './entries.ts';

/** Jest's own order, and where jest knows no times yet: the entries of the rooms with most tests first, so that none is left for the end. */
class HeaviestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (tests.some(({ duration }) => duration !== undefined)) return sorted;
    const weights = new Map(tests.map((test) => [test, weightOf(test.path)]));
    return sorted.sort((left, right) => weights.get(right) - weights.get(left));
  }
}

export default HeaviestFirst;
