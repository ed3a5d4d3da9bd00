import type { OutcomePlace } from '../../payments/domain/transition.ts';
import type { ProcessedEvents } from '../../payments/use/transition-reader.ts';
import { projectedKey, type ViewKey } from '../domain/lists.ts';
import type { ViewStore } from './view-store.ts';

const AT_ONCE = 25;

export class ProjectedEvents implements ProcessedEvents {
  readonly #views: Pick<ViewStore, 'read'>;

  constructor(views: Pick<ViewStore, 'read'>) {
    this.#views = views;
  }

  async unprocessed(places: readonly OutcomePlace[]): Promise<readonly OutcomePlace[]> {
    const missing: OutcomePlace[] = [];
    for (let start = 0; start < places.length; start += AT_ONCE) {
      const asked = places.slice(start, start + AT_ONCE);
      const found = await Promise.all(asked.map((place) => this.#views.read(keyOf(place))));
      missing.push(...asked.filter((_, index) => found[index] === undefined));
    }
    return missing;
  }
}

function keyOf(place: OutcomePlace): ViewKey {
  return projectedKey('orderId' in place ? place.orderId : place.paymentId, place.sequence);
}
