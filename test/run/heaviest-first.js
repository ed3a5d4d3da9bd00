import Sequencer from '@jest/test-sequencer';
import { weightOf } from './entries.ts';

/** No heavy entry may start last, even before Jest knows durations. */
class HeaviestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (tests.some(({ duration }) => duration !== undefined)) return sorted;
    const weights = new Map(tests.map((test) => [test, weightOf(test.path)]));
    return sorted.sort((left, right) => weights.get(right) - weights.get(left));
  }
}

export default HeaviestFirst;
