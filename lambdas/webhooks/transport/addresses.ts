import { lookup as systemLookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { readWebUrl, type WebUrl } from '../../kernel/platform/web-url.ts';

export interface Resolved {
  readonly address: string;
  readonly family: number;
}

/** @throws when the name has no address, or no resolver responds */
export type Resolve = (name: string) => Promise<readonly Resolved[]>;

export const systemResolve: Resolve = (name) => systemLookup(name, { all: true, verbatim: true });

/**
 * Networks outside the public internet, from the IANA registries of special-purpose addresses (RFC 6890 and its
 * updates), and the address of Azure's platform services. Link-local addresses serve cloud metadata; CGNAT and private
 * networks lead to hosts that trust local callers.
 */
const NOT_PUBLIC_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network, unspecified
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // CGNAT; includes Alibaba's metadata
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, metadata
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments; includes Oracle's metadata
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // AMT
  ['192.88.99.0', 24], // 6to4 relays, withdrawn
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
  ['168.63.129.16', 32], // Azure platform services
];

/** Networks that belong to IPv6 global unicast (`2000::/3`) but are not public. */
const NOT_PUBLIC_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // protocol assignments, including Teredo and ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: embeds an IPv4 address
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
];

const LOOPBACK = listOf([['127.0.0.0', 8]], [['::1', 128]]);
const NOT_PUBLIC = listOf(NOT_PUBLIC_V4, NOT_PUBLIC_V6);
const GLOBAL_UNICAST = listOf([], [['2000::', 3]]);

function listOf(v4: readonly (readonly [string, number])[], v6: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of v4) list.addSubnet(network, prefix, 'ipv4');
  for (const [network, prefix] of v6) list.addSubnet(network, prefix, 'ipv6');
  return list;
}

export type AddressClass = 'public' | 'loopback' | 'not_public';

/** The address must have no brackets. An address that cannot be parsed is `not_public`. */
export function addressClassOf(address: string): AddressClass {
  const family = isIP(address);
  // An address with a zone id is link-local.
  if (family === 0 || address.includes('%')) return 'not_public';
  if (family === 4) return classIn(address, 'ipv4');
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const inside = mappedIpv4(written);
  if (inside !== undefined) return classIn(inside, 'ipv4');
  if (!GLOBAL_UNICAST.check(written, 'ipv6') && !LOOPBACK.check(written, 'ipv6')) return 'not_public';
  return classIn(written, 'ipv6');
}

function classIn(address: string, family: 'ipv4' | 'ipv6'): AddressClass {
  if (LOOPBACK.check(address, family)) return 'loopback';
  return NOT_PUBLIC.check(address, family) ? 'not_public' : 'public';
}

/** Matches `::ffff:a.b.c.d` as the URL standard serializes it, with two groups of hexadecimal digits at the end. */
const MAPPED = /^::ffff:(?<high>[0-9a-f]{1,4}):(?<low>[0-9a-f]{1,4})$/;

function mappedIpv4(written: string): string | undefined {
  const { high, low } = MAPPED.exec(written)?.groups ?? {};
  if (high === undefined || low === undefined) return undefined;
  const bits = Number.parseInt(high, 16) * 0x1_00_00 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join('.');
}

export interface AddressRulesOptions {
  /**
   * Whether loopback addresses are also allowed, over HTTP or HTTPS and with any port. Only for the local stack, where
   * the receiver runs on the same machine.
   */
  readonly allowLoopback: boolean;
}

/** Lower ports belong to other protocols. */
const FIRST_FREE_PORT = 1024;
const HTTPS_PORT = 443;
const LONGEST_URL = 2_048;

/** Names that never resolve to the public internet (RFC 6761, RFC 6762, RFC 7686, RFC 8375, ICANN's `.internal`). */
const PRIVATE_NAMES = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa|onion|test|invalid|example)$/;

const REFUSALS: Readonly<Record<Exclude<WebUrl['kind'], 'good'>, string>> = {
  malformed: `must be an https address of at most ${LONGEST_URL} characters`,
  not_as_written: 'must not have spaces, line breaks, control characters or backslashes',
  not_http: 'must begin with https://',
  with_user: 'must not contain a user name or password',
};

export type UrlVerdict =
  | { readonly kind: 'good'; readonly url: URL; readonly host: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** Checks a URL's form, host and port, without a DNS look-up. */
export function checkUrl(text: string, { allowLoopback }: AddressRulesOptions): UrlVerdict {
  if (text.length > LONGEST_URL) return refused(REFUSALS.malformed);
  const read = readWebUrl(text);
  if (read.kind !== 'good') return refused(REFUSALS[read.kind]);
  // The URL parser normalizes 0x7f.1, 2130706433 and 0177.0.0.1 to 127.0.0.1, and full-width digits to ASCII.
  const { url } = read;
  if (url.hash !== '') return refused('must not have a fragment');
  const host = hostOf(url);
  const isLocal = allowLoopback && (host === 'localhost' || (isIP(host) !== 0 && addressClassOf(host) === 'loopback'));
  if (url.protocol !== 'https:' && !(isLocal && url.protocol === 'http:')) return refused(REFUSALS.not_http);
  const port = url.port === '' ? HTTPS_PORT : Number(url.port);
  if (port !== HTTPS_PORT && port < FIRST_FREE_PORT && !isLocal) {
    return refused(`must use port ${HTTPS_PORT}, or a port of ${FIRST_FREE_PORT} or higher`);
  }
  if (isLocal) return { kind: 'good', url, host };
  if (isIP(host) === 0) {
    const isPublicName = host.includes('.') && !PRIVATE_NAMES.test(host);
    return isPublicName ? { kind: 'good', url, host } : refused('must have a public name or address');
  }
  return addressClassOf(host) === 'public'
    ? { kind: 'good', url, host }
    : refused('must have a public name or address');
}

function refused(reason: string): UrlVerdict {
  return { kind: 'refused', reason };
}

/** Returns the host without brackets, and without the trailing dot of an absolute name. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

export function areAllowed(found: readonly Resolved[], { allowLoopback }: AddressRulesOptions): boolean {
  const allowed = (address: string): boolean => {
    const kind = addressClassOf(address);
    return kind === 'public' || (allowLoopback && kind === 'loopback');
  };
  return found.length > 0 && found.every(({ address }) => allowed(address));
}
