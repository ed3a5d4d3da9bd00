import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { type ConsoleSignIn, Environment } from '../lambdas/kernel/contract/environment.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import type { Settings } from './settings.ts';

export interface ApiDocsProps {
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  readonly settings: Pick<Settings, 'operatorIssuer' | 'operatorAudience' | 'operatorClientId'>;
}

/**
 * Serves the OpenAPI document, a page that shows it, and the operators' console. The function has no permissions except
 * to write its log.
 */
export class ApiDocs extends Construct {
  readonly api: PayonceFunction;

  constructor(scope: Construct, id: string, { http, logs, settings }: ApiDocsProps) {
    super(scope, id);
    this.api = new PayonceFunction(this, 'Default', {
      ...logs,
      folder: 'api-documents',
      timeout: Duration.seconds(5),
      memoryMb: 256,
      environment: signInOf(settings),
    });
    const pages = ['/docs', '/console'].flatMap((page) => [page, `${page}/{proxy+}`]);
    http.route([...pages, '/v1/openapi.json', '/llms.txt'], this.api.function);
  }
}

function signInOf({
  operatorIssuer: issuer,
  operatorAudience: audience,
  operatorClientId: clientId,
}: ApiDocsProps['settings']) {
  if (issuer === undefined || audience === undefined || clientId === undefined) return {};
  return { [Environment.consoleSignIn]: JSON.stringify({ issuer, audience, clientId } satisfies ConsoleSignIn) };
}
