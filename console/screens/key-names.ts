import { type Api, may, type Schemas } from '../api.ts';
import { useAsked } from '../reading.ts';

type KeyList = Schemas['KeyList'];

/** Placeholder for the path while the tenant is unknown. No request is sent. */
const UNKNOWN = 'keys of no tenant';

/** Only owners may read keys. For other roles, the list is empty, so screens show the ids of keys. */
async function readKeys(api: Api, path: string): Promise<KeyList> {
  return may(api.self, 'owner') && path !== UNKNOWN
    ? api.get<KeyList>(path)
    : { object: 'list', data: [], has_more: false };
}

/** Keyed by key id. @param tenant undefined until it is known */
export function useKeyNames(tenant: string | undefined): ReadonlyMap<string, string> {
  const path = tenant === undefined ? UNKNOWN : `/v1/admin/keys?limit=100&tenant=${encodeURIComponent(tenant)}`;
  const { answer } = useAsked(path, {}, readKeys);
  return new Map((answer?.data ?? []).map(({ id, name }) => [id, name]));
}
