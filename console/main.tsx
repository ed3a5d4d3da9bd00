import { type ComponentChildren, render, type VNode } from 'preact';
import { useCallback, useEffect, useErrorBoundary, useMemo, useRef, useState } from 'preact/hooks';
import { type Api, may, type Role, type Schemas } from './api.ts';
import { Header } from './header.tsx';
import { Icon, type IconName } from './icons.tsx';
import { Notices } from './notice.tsx';
import { Loading } from './parts.tsx';
import {
  addressOf,
  hashOf,
  type Place,
  PlaceProvider,
  useDeterminedPlace,
  useFragment,
  useKeptScope,
} from './place.ts';
import { createClient, SessionProvider, useApi } from './reading.ts';
import { Audit } from './screens/audit.tsx';
import { Books } from './screens/books.tsx';
import { Exports } from './screens/exports.tsx';
import { Inspector, Operation } from './screens/inspector.tsx';
import { Keys, Operators } from './screens/keys.tsx';
import { Activity, Approvals, Differences, Jobs, Runs, Tenants } from './screens/lists.tsx';
import { Overview } from './screens/overview.tsx';
import { Payment } from './screens/payment.tsx';
import { Payments } from './screens/payments.tsx';
import { Queue, Waiting } from './screens/waiting.tsx';
import { Webhooks } from './screens/webhooks.tsx';
import { forgetSession } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { TenantChoice } from './tenant-choice.tsx';
import './style.css';

type ScreenOf = (props: { readonly filters: URLSearchParams }) => VNode;

interface Entry {
  readonly name: IconName;
  readonly title: string;
  readonly screen: ScreenOf;
  /** True if the screen needs a tenant and a mode. Searches and `needs_review` may cover all tenants. */
  readonly isOfTenant?: true;
  /** The role that the whole screen requires. @default viewer */
  readonly role?: Role;
}

const GROUPS: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  { title: 'Deployment', entries: [{ name: 'overview', title: 'Overview', screen: Overview }] },
  {
    title: 'Money',
    entries: [
      { name: 'payments', title: 'Payments', screen: Payments, isOfTenant: true },
      { name: 'books', title: 'Books', screen: Books, isOfTenant: true },
      { name: 'exports', title: 'Exports', screen: Exports, isOfTenant: true },
    ],
  },
  {
    title: 'Work',
    entries: [
      { name: 'waiting', title: 'Waiting for work', screen: Waiting },
      { name: 'differences', title: 'Differences', screen: Differences },
      { name: 'approvals', title: 'Approvals', screen: Approvals },
      { name: 'jobs', title: 'Jobs', screen: Jobs },
    ],
  },
  {
    title: 'Integration',
    entries: [
      { name: 'webhooks', title: 'Webhooks', screen: Webhooks, isOfTenant: true },
      { name: 'keys', title: 'Keys and limits', screen: Keys, isOfTenant: true },
      { name: 'inspector', title: 'Key inspector', screen: Inspector },
    ],
  },
  {
    title: 'Administration',
    entries: [
      { name: 'tenants', title: 'Tenants', screen: Tenants },
      { name: 'operators', title: 'Operators', screen: Operators, role: 'owner' },
      { name: 'activity', title: 'Activity', screen: Activity },
      { name: 'audit', title: 'Audit', screen: Audit },
    ],
  },
];
const ENTRIES = GROUPS.flatMap(({ entries }) => entries);

const ITEM_SCREENS: Readonly<Record<string, (props: { readonly id: string }) => VNode>> = {
  payments: Payment,
  waiting: Queue,
  jobs: Runs,
  inspector: Operation,
};

/** No link generates invalid encoding. It is used verbatim. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function screenOf(hash: string, place: Place, self: Schemas['OperatorSelf']) {
  const { path, filters } = addressOf(hash);
  const [name = '', encoded] = path.split('/');
  const One = ITEM_SCREENS[name];
  if (One !== undefined && encoded !== undefined) return { name, shown: <One id={decoded(encoded)} /> };
  const entry = ENTRIES.find((each) => each.name === name) ?? ENTRIES[0];
  if (entry === undefined) throw new Error('there is no screen');
  const { screen: All, isOfTenant, title, role = 'viewer' } = entry;
  if (!may(self, role)) return { name: entry.name, shown: <WithoutRole title={title} role={role} self={self} /> };
  const isOfAll = filters.has('q') || filters.get('status') === 'needs_review';
  if (isOfTenant === true && !isOfAll && (place.tenant === undefined || place.isUnknown))
    return { name: entry.name, shown: <WithoutTenant title={title} place={place} /> };
  return { name: entry.name, shown: <All filters={filters} /> };
}

function WithoutRole({
  title,
  role,
  self,
}: {
  readonly title: string;
  readonly role: Role;
  readonly self: Schemas['OperatorSelf'];
}) {
  return (
    <>
      <h1>{title}</h1>
      <p class="why">
        Your role is {self.role}; this screen requires the role {role}.
      </p>
    </>
  );
}

function WithoutTenant({ title, place: { tenant } }: { readonly title: string; readonly place: Place }) {
  return (
    <>
      <h1>{title}</h1>
      {tenant === undefined ? (
        <TenantChoice title="No tenant is chosen." />
      ) : (
        <>
          <p role="alert" class="trouble">
            This deployment has no tenant {tenant}.
          </p>
          <TenantChoice title="Nothing can be shown." />
        </>
      )}
    </>
  );
}

function Console() {
  const [api, setApi] = useState<Api>();
  const [hasEnded, setEnded] = useState(false);
  const leave = useCallback((isEnded: boolean) => {
    forgetSession();
    setEnded(isEnded);
    setApi(undefined);
  }, []);
  const entered = useCallback((next: Api) => {
    setEnded(false);
    setApi(next);
  }, []);
  const ended = useCallback(() => leave(true), [leave]);
  const session = useMemo(() => (api === undefined ? undefined : { api, client: createClient() }), [api]);
  if (session === undefined) return <SignIn hasEnded={hasEnded} entered={entered} ended={ended} />;
  return (
    <SessionProvider value={session}>
      <Shell signOut={() => leave(false)} />
    </SessionProvider>
  );
}

function Shell({ signOut }: { readonly signOut: () => void }) {
  const fragment = useFragment();
  const place = useDeterminedPlace(fragment.hash);
  const hash = useKeptScope(fragment, place);
  const [isOpen, setOpen] = useState(false);
  const { self } = useApi();
  if (place === undefined) return <Loading />;
  const { name, shown } = screenOf(hash, place, self);
  const { path, filters } = addressOf(hash);
  return (
    <PlaceProvider value={place}>
      <Notices screen={path}>
        <Header
          query={filters.get('q') ?? ''}
          signOut={signOut}
          isOpen={isOpen}
          toggle={() => setOpen((was) => !was)}
        />
        <div class="body">
          <nav id="screens" aria-label="Screens" class={isOpen ? 'open' : ''}>
            {GROUPS.map(({ title, entries }) => (
              <Group
                key={title}
                title={title}
                entries={entries}
                current={name}
                place={place}
                leave={() => setOpen(false)}
              />
            ))}
          </nav>
          {/* The key excludes tenant and mode, so that a change of them does not move the focus away from their control. */}
          <Screen key={`${path}?${filters.toString()}`}>{shown}</Screen>
        </div>
      </Notices>
    </PlaceProvider>
  );
}

function Group({
  title,
  entries,
  current,
  place,
  leave,
}: {
  readonly title: string;
  readonly entries: readonly Entry[];
  readonly current: string;
  readonly place: Place;
  readonly leave: () => void;
}) {
  const id = `group-${title}`;
  return (
    <div>
      {entries.length > 1 && (
        <p id={id} class="group">
          {title}
        </p>
      )}
      <ul {...(entries.length > 1 ? { 'aria-labelledby': id } : {})}>
        {entries.map((entry) => (
          <li key={entry.name}>
            <a
              href={hashOf(entry.name, place)}
              aria-current={entry.name === current ? 'page' : undefined}
              onClick={leave}
            >
              <Icon name={entry.name} />
              {entry.title}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

let isFirst = true;

/** The page title and the focus change, so that a screen reader announces the change. */
function Screen({ children }: { readonly children: ComponentChildren }) {
  const boundary = useErrorBoundary();
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${main.current?.querySelector('h1')?.textContent ?? 'Error'} – Payonce console`;
    if (!isFirst) {
      // Without `preventScroll`, the focus would scroll the heading behind the header, which stays in the window.
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    isFirst = false;
  }, []);
  return (
    <main ref={main} tabIndex={-1}>
      {boundary[0] === undefined ? (
        children
      ) : (
        <p role="alert" class="trouble">
          This address cannot be shown. Choose a screen.
        </p>
      )}
    </main>
  );
}

const shownAt = document.getElementById('console');
if (shownAt !== null) render(<Console />, shownAt);
