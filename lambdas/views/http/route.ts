import type * as http from '../../http/http-api.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { ReadEventTools } from '../use/read-event.ts';
import type { ViewStore } from '../use/view-store.ts';

export interface EventsTools extends ReadEventTools {
  readonly views: Pick<ViewStore, 'range'>;
}

export type Call = http.Call<EventsTools, Caller>;
export type Route = http.Route<EventsTools, Caller>;
