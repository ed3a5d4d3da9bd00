import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import type { Api, Schemas } from './api.ts';
import { useNotify } from './notice.tsx';
import { useApi, useAsked } from './reading.ts';

type Tenant = Schemas['TenantList']['data'][number];
export const MODES = ['live', 'test'] as const;
export type Mode = (typeof MODES)[number];

interface Scope {
  /** Undefined until an operator chooses one of several tenants. */
  readonly tenant: string | undefined;
  readonly mode: Mode;
}

interface Address extends Partial<Scope> {
  readonly path: string;
  readonly filters: URLSearchParams;
}

export function addressOf(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const filters = new URLSearchParams(query);
  const tenant = filters.get('tenant') ?? undefined;
  const mode = MODES.find((each) => each === filters.get('mode'));
  filters.delete('tenant');
  filters.delete('mode');
  return { path, filters, tenant, ...(mode === undefined ? {} : { mode }) };
}

/**
 * The fragment contains the scope, so that a link shows the same data to another person. Without a mode, the console
 * chooses one.
 */
export function hashOf(
  path: string,
  { tenant, mode }: { readonly tenant: string | undefined; readonly mode?: Mode },
  filters: Iterable<readonly [string, string]> = [],
): string {
  const query = new URLSearchParams();
  if (tenant !== undefined) query.set('tenant', tenant);
  if (tenant !== undefined && mode !== undefined) query.set('mode', mode);
  for (const [name, value] of filters) query.set(name, value);
  return `#/${path === '' ? 'overview' : path}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

const REMEMBERED = 'payonce scope';

function remembered(): Partial<Scope> {
  const { tenant, mode } = addressOf(`#/?${sessionStorage.getItem(REMEMBERED) ?? ''}`);
  return { ...(tenant === undefined ? {} : { tenant }), ...(mode === undefined ? {} : { mode }) };
}

export function forgetScope(): void {
  sessionStorage.removeItem(REMEMBERED);
}

interface Tenants {
  readonly data: readonly Tenant[];
  /** False if there are more tenants than the console reads. */
  readonly isWhole: boolean;
}

const MAX_TENANT_PAGES = 10;

async function readTenants(api: Api): Promise<Tenants> {
  const data: Tenant[] = [];
  for (let pages = 0; pages < MAX_TENANT_PAGES; pages += 1) {
    const after = data.at(-1)?.id;
    const page = await api.get<Schemas['TenantList']>(
      `/v1/admin/tenants?limit=100${after === undefined ? '' : `&starting_after=${after}`}`,
    );
    data.push(...page.data);
    if (!page.has_more) return { data, isWhole: true };
  }
  return { data, isWhole: false };
}

async function usedMode(api: Api, tenant: string): Promise<Mode> {
  for (const mode of MODES) {
    const query = new URLSearchParams({ tenant, mode, limit: '1' }).toString();
    const { data } = await api.get<Schemas['PaymentList']>(`/v1/admin/payments?${query}`);
    if (data.length > 0) return mode;
  }
  return 'live';
}

export interface Place extends Scope {
  readonly tenants: readonly Tenant[];
  /** True if a tenant is chosen, but certainly does not exist in this deployment. */
  readonly isUnknown: boolean;
  readonly to: (path: string, filters?: Readonly<Record<string, string>>, scope?: Partial<Scope>) => string;
}

const Placed = createContext<Place | undefined>(undefined);
export const PlaceProvider = Placed.Provider;

export function usePlace(): Place {
  const place = useContext(Placed);
  if (place === undefined) throw new Error('usePlace must be called inside a PlaceProvider');
  return place;
}

/** The tenant is empty if none is chosen. */
export function useOwner(): { readonly tenant: string; readonly mode: Mode; readonly owner: string } {
  const { tenant = '', mode } = usePlace();
  return { tenant, mode, owner: `${tenant}/${mode}` };
}

export function useTenantName(): (tenant: string) => string {
  const { tenants } = usePlace();
  return (tenant) => tenants.find(({ id }) => id === tenant)?.name || tenant;
}

/**
 * The payment was found by its id alone, so it may belong to a tenant or mode that is not selected.
 * @param tenant undefined until the payment was read
 */
export function useFollow(tenant: string | undefined, mode: Mode): void {
  const place = usePlace();
  const notify = useNotify();
  const nameOf = useTenantName();
  const isOther = tenant !== undefined && (place.tenant !== tenant || place.mode !== mode);
  useEffect(() => {
    if (!isOther) return;
    if (place.tenant !== undefined)
      notify(`The header now shows ${nameOf(tenant)} in ${mode} mode, to which this payment belongs.`);
    const { path, filters } = addressOf(location.hash);
    location.replace(hashOf(path, { tenant, mode }, filters));
  }, [isOther, tenant, mode]);
}

/**
 * Determines the tenant and the mode: from the address, otherwise from the last use in this tab, otherwise the only
 * tenant of the deployment, and the mode in which the tenant has payments.
 *
 * @returns undefined while the scope is being determined
 */
export function useDeterminedPlace(hash: string): Place | undefined {
  const api = useApi();
  const address = useMemo(() => addressOf(hash), [hash]);
  const read = useAsked<Tenants>('tenants', {}, readTenants);
  // Read the stored scope again whenever the hash changes: `useKeptScope` may have stored another scope since.
  const kept = useMemo(remembered, [hash]);
  const known = read.answer?.data;
  const isRead = known !== undefined || read.error !== undefined;
  const only = known?.length === 1 ? known[0]?.id : undefined;
  const tenant = address.tenant ?? kept.tenant ?? only;
  const given = address.mode ?? kept.mode;
  const isModeNeeded = isRead && given === undefined && tenant !== undefined;
  const found = useUsedMode(api, isModeNeeded ? tenant : undefined);
  const mode = given ?? (isModeNeeded ? found : 'live');
  return useMemo(() => {
    if (!isRead || mode === undefined) return undefined;
    const scope = { tenant, mode };
    const isUnknown = read.answer?.isWhole === true && !(known ?? []).some(({ id }) => id === tenant);
    return {
      ...scope,
      tenants: known ?? [],
      isUnknown: tenant !== undefined && isUnknown,
      to: (path, filters = {}, other = {}) => hashOf(path, { ...scope, ...other }, Object.entries(filters)),
    };
  }, [isRead, read.answer, known, tenant, mode]);
}

function useUsedMode(api: Api, tenant: string | undefined): Mode | undefined {
  const [found, setFound] = useState<{ readonly tenant: string; readonly mode: Mode }>();
  useEffect(() => {
    if (tenant === undefined) return;
    usedMode(api, tenant).then(
      (mode) => setFound({ tenant, mode }),
      () => setFound({ tenant, mode: 'live' }),
    );
  }, [api, tenant]);
  return found?.tenant === tenant ? found?.mode : undefined;
}

export function useKeptScope({ hash, turn }: Fragment, place: Place | undefined): string {
  const { path, filters } = useMemo(() => addressOf(hash), [hash]);
  const shown = place === undefined ? hash : hashOf(path, place, filters);
  useEffect(() => {
    if (place?.tenant === undefined) return;
    sessionStorage.setItem(REMEMBERED, new URLSearchParams({ tenant: place.tenant, mode: place.mode }).toString());
    if (location.hash !== shown) history.replaceState(undefined, '', shown);
  }, [place, shown, turn]);
  return shown;
}

interface Fragment {
  readonly hash: string;
  readonly turn: number;
}

export function useFragment(): Fragment {
  const [fragment, setFragment] = useState<Fragment>({ hash: location.hash, turn: 0 });
  useEffect(() => {
    const follow = () => setFragment(({ turn }) => ({ hash: location.hash, turn: turn + 1 }));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return fragment;
}
