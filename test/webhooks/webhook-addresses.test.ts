import { describe, expect, test } from '@jest/globals';
import { addressClassOf, checkUrl, type Resolve } from '../../lambdas/webhooks/transport/addresses.ts';
import { webhookAddresses } from '../../lambdas/webhooks/transport/webhook-addresses.ts';

const PUBLIC_ONLY = { allowLoopback: false };

describe('an IP address', () => {
  test.each([
    ['93.184.216.34', 'public'],
    ['1.1.1.1', 'public'],
    ['2606:4700:4700::1111', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::FFFF:7f00:1', 'loopback'],
    ['0:0:0:0:0:ffff:7f00:0001', 'loopback'],
    ['0.0.0.0', 'not_public'],
    ['10.1.2.3', 'not_public'],
    ['100.64.0.1', 'not_public'],
    ['100.100.100.200', 'not_public'],
    ['169.254.169.254', 'not_public'],
    ['169.254.170.2', 'not_public'],
    ['168.63.129.16', 'not_public'],
    ['172.16.0.1', 'not_public'],
    ['172.31.255.255', 'not_public'],
    ['172.32.0.1', 'public'],
    ['192.0.0.192', 'not_public'],
    ['192.168.1.1', 'not_public'],
    ['198.18.0.1', 'not_public'],
    ['224.0.0.1', 'not_public'],
    ['255.255.255.255', 'not_public'],
    ['::', 'not_public'],
    ['::ffff:10.0.0.1', 'not_public'],
    ['::ffff:a9fe:a9fe', 'not_public'],
    ['::ffff:1.1.1.1', 'public'],
    ['::127.0.0.1', 'not_public'],
    ['fe80::1', 'not_public'],
    ['fe80::1%eth0', 'not_public'],
    ['fc00::1', 'not_public'],
    ['fd00:ec2::254', 'not_public'],
    ['fec0::1', 'not_public'],
    ['ff02::1', 'not_public'],
    ['64:ff9b::a9fe:a9fe', 'not_public'],
    ['2002:7f00:1::', 'not_public'],
    ['2001::1', 'not_public'],
    ['2001:db8::1', 'not_public'],
    ['not an address', 'not_public'],
  ])('such as %s is classified as %s', (address, expected) => {
    expect(addressClassOf(address)).toBe(expected);
  });
});

describe('in URL validation without DNS,', () => {
  test.each([
    'https://example.com/hooks',
    'https://shop.co.uk:443/hooks?tenant=1',
    'https://shop.co.uk:8443/',
    'https://93.184.216.34/',
    'https://[2606:4700:4700::1111]/',
    'https://shop.co.uk./hooks',
  ])('%s is accepted', (text) => {
    expect(checkUrl(text, PUBLIC_ONLY).kind).toBe('good');
  });

  test.each([
    ['http://shop.co.uk/', 'must begin with https://'],
    ['ftp://shop.co.uk/', 'must begin with https://'],
    ['file:///etc/passwd', 'must begin with https://'],
    ['https://user:secret@shop.co.uk/', 'must not contain a user name or password'],
    ['https://shop.co.uk@169.254.169.254/', 'must not contain a user name or password'],
    ['https://shop.co.uk/#part', 'must not have a fragment'],
    ['https://shop.co.uk:22/', 'must use port 443, or a port of 1024 or higher'],
    ['https://shop.co.uk:80/', 'must use port 443, or a port of 1024 or higher'],
    ['https://localhost/', 'must have a public name or address'],
    ['https://localhost./', 'must have a public name or address'],
    ['https://LOCALHOST/', 'must have a public name or address'],
    ['https://hooks.localhost/', 'must have a public name or address'],
    ['https://metadata/', 'must have a public name or address'],
    ['https://metadata.google.internal/', 'must have a public name or address'],
    ['https://metadata.google.internal./', 'must have a public name or address'],
    ['https://printer.local/', 'must have a public name or address'],
    ['https://127.0.0.1/', 'must have a public name or address'],
    ['https://127.1/', 'must have a public name or address'],
    ['https://2130706433/', 'must have a public name or address'],
    ['https://0x7f000001/', 'must have a public name or address'],
    ['https://0x7f.0.0.1/', 'must have a public name or address'],
    ['https://0177.0.0.1/', 'must have a public name or address'],
    ['https://017700000001/', 'must have a public name or address'],
    ['https://0xa9fea9fe/', 'must have a public name or address'],
    ['https://2852039166/', 'must have a public name or address'],
    ['https://１２７.０.０.１/', 'must have a public name or address'],
    ['https://①②⑦.0.0.1/', 'must have a public name or address'],
    ['https://127。0。0。1/', 'must have a public name or address'],
    ['https://%31%32%37.0.0.1/', 'must have a public name or address'],
    ['https://127.0.0.1./', 'must have a public name or address'],
    ['https://[::1]/', 'must have a public name or address'],
    ['https://[::]/', 'must have a public name or address'],
    ['https://[::ffff:169.254.169.254]/', 'must have a public name or address'],
    ['https://[fe80::1]/', 'must have a public name or address'],
    ['https://[fd00:ec2::254]/', 'must have a public name or address'],
    ['https://[fe80::1%25eth0]/', 'must be an https address of at most 2048 characters'],
    ['https://256.1.1.1/', 'must be an https address of at most 2048 characters'],
    // Some of the URLs below lead to a different host than their text suggests.
    ['https://shop.co.uk/\r\nX: y', 'must not have spaces, line breaks, control characters or backslashes'],
    ['https://shop.co.uk\t.evil.co.uk/', 'must not have spaces, line breaks, control characters or backslashes'],
    ['https://evil.co.uk\\@shop.co.uk/', 'must not have spaces, line breaks, control characters or backslashes'],
    ['https://shop.co.uk/\u202eskooh', 'must not have spaces, line breaks, control characters or backslashes'],
    [' https://shop.co.uk/', 'must not have spaces, line breaks, control characters or backslashes'],
    ['https://[::ffff:0:127.0.0.1]/', 'must have a public name or address'],
    ['https://[64:ff9b::169.254.169.254]/', 'must have a public name or address'],
    ['https://[2002:a9fe:a9fe::]/', 'must have a public name or address'],
    ['not an address', 'must be an https address of at most 2048 characters'],
    [`https://shop.co.uk/${'a'.repeat(2_048)}`, 'must be an https address of at most 2048 characters'],
  ])('%s is refused', (text, reason) => {
    expect(checkUrl(text, PUBLIC_ONLY)).toEqual({ kind: 'refused', reason });
  });

  test.each(['http://127.0.0.1:8080/hooks', 'http://localhost:8080/', 'http://[::1]:8080/', 'https://127.0.0.1:80/'])(
    '%s is accepted if loopback is allowed',
    (text) => {
      expect(checkUrl(text, { allowLoopback: true }).kind).toBe('good');
    },
  );

  test.each(['http://10.0.0.1/', 'https://10.0.0.1/', 'http://shop.co.uk/', 'https://169.254.169.254/'])(
    '%s is refused even if loopback is allowed',
    (text) => {
      expect(checkUrl(text, { allowLoopback: true }).kind).toBe('refused');
    },
  );
});

describe('the host name of a new URL', () => {
  const standsFor =
    (...addresses: readonly string[]): Resolve =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const refusal = (resolve: Resolve) => webhookAddresses(resolve, PUBLIC_ONLY).refusal('https://shop.co.uk/hooks');

  test('is accepted when all its addresses are public', async () => {
    expect(await refusal(standsFor('93.184.216.34', '2606:4700:4700::1111'))).toBeUndefined();
  });

  test.each(['10.0.0.1', '127.0.0.1', '169.254.169.254', '::1', 'fd00::1', '::ffff:10.0.0.1'])(
    'is refused when it resolves to %s, even with an additional public address',
    async (address) => {
      expect(await refusal(standsFor(address))).toBe('must have a public name or address');
      expect(await refusal(standsFor('93.184.216.34', address))).toBe('must have a public name or address');
    },
  );

  test('is accepted if it cannot be resolved, because each attempt checks the address again', async () => {
    const unknown: Resolve = async () => {
      throw new Error('ENOTFOUND');
    };
    expect(await refusal(unknown)).toBeUndefined();
  });
});
