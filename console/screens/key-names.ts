import { type Api, may, type Schemas } from '../api.ts';
import { useAsked } from '../reading.ts';

type KeyList = Schemas['KeyList'];

/** Replaces the path while the tenant is not known. Nothing is read from it. */
const UNKNOWN = 'keys of no tenant';

/** Only owners may read keys; for others, keys are named by their ids. */
async function readKeys(api: Api, path: string): Promise<KeyList> {
  return may(api.self, 'owner') && path !== UNKNOWN
    ? api.get<KeyList>(path)
    : { object: 'list', data: [], has_more: false };
}

/** Returns the names of the tenant's keys by their ids. @param tenant undefined until it is known */
export function useKeyNames(tenant: string | undefined): ReadonlyMap<string, string> {
  const path = tenant === undefined ? UNKNOWN : `/v1/admin/keys?limit=100&tenant=${encodeURIComponent(tenant)}`;
  const { answer } = useAsked(path, {}, readKeys);
  return new Map((answer?.data ?? []).map(({ id, name }) => [id, name]));
}
