import { describe, expect, test } from '@jest/globals';
import { baseUrl, queueUrl } from '../../lambdas/kernel/platform/variables.ts';
import { webUrl } from '../../lambdas/kernel/platform/web-url.ts';
import { checkUrl } from '../../lambdas/webhooks/transport/addresses.ts';
import { refuseBadTargets } from '../../lib/settings/job-targets.ts';
import { readUrl } from '../../lib/settings/rules.ts';
import { Api } from '../world/api.ts';

/**
 * Texts that are no URL, or that the URL parser accepts although a reader would take them for another URL or for no
 * URL.
 */
const MISREAD = [
  String.raw`https:\\evil.co.uk`,
  String.raw`https:/\evil.co.uk`,
  String.raw`https://shop.co.uk\@evil.co.uk`,
  'https:evil.co.uk',
  'https:/evil.co.uk',
  'https:///evil.co.uk',
  'https://shop.co.uk@evil.co.uk',
  'https://@evil.co.uk',
  'https://evil.co.uk/a b',
  ' https://evil.co.uk',
  'https://evil.co\t.uk',
  'https://evil.co.uk/\u202ekoohs',
  'https://',
  '//evil.co.uk',
];

describe('a text that is no URL, or whose parsed form differs from its appearance', () => {
  test.each(MISREAD)('is rejected: %s', (text) => {
    expect(webUrl(text)).toBeUndefined();
  });

  test('is refused in every request field that takes a URL, and the error names the field', async () => {
    const api = new Api();
    for (const [index, text] of MISREAD.entries()) {
      const replies = [
        [await api.pay(`p-${index}`, { return_url: text }), 'return_url'],
        [await api.write('/v1/webhook_endpoints', `w-${index}`, { url: text, events: ['*'] }), 'url'],
      ] as const;
      for (const [reply, param] of replies)
        expect([text, reply.status, reply.body['param']]).toEqual([text, 400, param]);
    }
  });

  test.each(MISREAD)('is refused by every check of a configured URL: %s', (url) => {
    expect(checkUrl(url, { allowLoopback: false }).kind).toBe('refused');
    expect(readUrl(url)).toBeUndefined();
    expect([baseUrl.safeParse(url).success, queueUrl.safeParse(url).success]).toEqual([false, false]);
    expect(() => refuseBadTargets({ jobTargets: { shop: { url, jobs: [] } } }, true)).toThrow(
      'must be an https address',
    );
  });
});

test.each([
  'https://shop.co.uk',
  'https://shop.co.uk:8443/a@b?c=@#d',
  'HTTPS://SHOP.co.uk/',
  'http://[::1]:3000/done',
  'https://bücher.example/ü',
])('the URL %s is accepted', (text) => {
  expect(webUrl(text)?.href).toBe(new URL(text).href);
});
