import type { Caller } from '../app/authenticate.ts';
import type { ViewStore } from '../app/ports/view-store.ts';
import type { ReadEventTools } from '../app/read-event.ts';
import type * as http from '../runtime/http-api.ts';

export interface EventsTools extends ReadEventTools {
  readonly views: Pick<ViewStore, 'range'>;
}

export type Call = http.Call<EventsTools, Caller>;
export type Route = http.Route<EventsTools, Caller>;
