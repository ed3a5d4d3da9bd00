import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Hono } from 'hono';
import * as z from 'zod';
import { headersOfConsole, IMMUTABLE, typeOfAsset } from '../../lambdas/api-docs/console-page.ts';
import { AUTHORITIES } from '../../lambdas/authority/contract.ts';
import type { Lab } from './lab.ts';

const asked = z.strictObject({ trouble: z.string(), authority: z.enum(AUTHORITIES).exactOptional() });

interface Refusal {
  readonly status: 400 | 403 | 404 | 409 | 415;
  readonly code: string;
  readonly detail: string;
}

/**
 * Serves the lab over HTTP, for browsers on this machine.
 *
 *   GET  /                 the page; its files are below /assets
 *   GET  /lab              LabState: the failure scenarios and the last runs
 *   POST /lab/runs         { "trouble": "<id>", "authority"?: "<name>" }
 *                          → 202 LabRun | 400 invalid_request | 404 unknown_trouble | 409 lab_is_busy | 415 not_json
 *   GET  /lab/runs/{id}    LabRun, to be polled while its state is `running`
 *
 * Other pages in the same browser cannot use the lab: the host must be a loopback host, to prevent DNS rebinding;
 * requests that a page sends must have the lab's own origin; and other sites can only link to the lab's page.
 *
 * @param page returns the folder of the built page
 * @param port the port on which the lab is served
 */
export function labServer(
  lab: Lab,
  page: () => Promise<string>,
  port: number,
): (request: Request) => Promise<Response> {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const app = new Hono();
  app.use(async (context, next) => {
    const host = context.req.header('host') ?? '';
    if (!hosts.includes(host)) {
      const detail = `The header Host is ${JSON.stringify(host)}; it must be ${hosts.join(' or ')}.`;
      return refused({ status: 403, code: 'foreign_host', detail });
    }
    const origin = context.req.header('origin');
    const isRead = context.req.method === 'GET' && origin === undefined;
    if (!isRead && origin !== `http://${host}`) {
      const detail = `The header Origin is ${JSON.stringify(origin ?? null)}; it must be http://${host}.`;
      return refused({ status: 403, code: 'foreign_origin', detail });
    }
    const { 'sec-fetch-site': site = 'none', 'sec-fetch-dest': destination } = context.req.header();
    const isLink = context.req.method === 'GET' && context.req.path === '/' && destination === 'document';
    if (site !== 'none' && site !== 'same-origin' && !isLink) {
      const detail = `The header Sec-Fetch-Site is ${JSON.stringify(site)}: pages of other sites may not call the lab.`;
      return refused({ status: 403, code: 'foreign_site', detail });
    }
    await next();
    context.header('x-content-type-options', 'nosniff');
    return undefined;
  });
  app.get('/', async () => {
    const text = await readFile(join(await page(), 'index.html'), 'utf8');
    return new Response(text, {
      headers: { ...headersOfConsole(undefined), 'content-type': 'text/html; charset=utf-8' },
    });
  });
  app.get('/assets/:name', async ({ req }) => {
    const name = req.param('name');
    const type = typeOfAsset(name);
    const text =
      type === undefined
        ? undefined
        : await readFile(join(await page(), 'assets', name), 'utf8').catch(() => undefined);
    if (type === undefined || text === undefined) return notFound(req.path);
    return new Response(text, { headers: { ...IMMUTABLE, 'content-type': type } });
  });
  app.get('/lab', ({ json }) => json(lab.state(), 200, NO_STORE));
  app.get('/lab/runs/:id', ({ json, req }) => {
    const run = lab.run(req.param('id'));
    return run === undefined ? notFound(req.path) : json(run, 200, NO_STORE);
  });
  app.post('/lab/runs', async ({ json, req }) => {
    if (req.header('content-type') !== 'application/json') {
      return refused({ status: 415, code: 'not_json', detail: 'The header Content-Type must be application/json.' });
    }
    const body = asked.safeParse(await req.json().catch(() => undefined));
    if (!body.success) {
      return refused({
        status: 400,
        code: 'invalid_request',
        detail: 'The body must be JSON: {"trouble":"<id>"}, optionally with "authority":"dynamodb" or "postgres".',
      });
    }
    const begun = lab.begin(body.data.trouble, body.data.authority);
    return 'code' in begun ? refused(begun) : json(begun, 202, NO_STORE);
  });
  app.notFound(({ req }) => notFound(req.path));
  return async (request) => app.fetch(request);
}

const NO_STORE = { 'cache-control': 'no-store' };

function notFound(path: string): Response {
  return refused({ status: 404, code: 'not_found', detail: `There is no ${path}.` });
}

function refused({ status, ...problem }: Refusal): Response {
  return Response.json(problem, { status, headers: NO_STORE });
}
