import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { HttpApi } from './constructs/http-api.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';

export interface ApiDocsProps {
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
}

/** The OpenAPI document, a page that shows it, and the console for operators. The function has no permissions besides its log. */
export class ApiDocs extends Construct {
  readonly api: PayonceFunction;

  constructor(scope: Construct, id: string, { http, logs }: ApiDocsProps) {
    super(scope, id);
    this.api = new PayonceFunction(this, 'Default', {
      ...logs,
      folder: 'api-documents',
      timeout: Duration.seconds(5),
      memoryMb: 256,
      environment: {},
    });
    const pages = ['/docs', '/console'].flatMap((page) => [page, `${page}/{proxy+}`]);
    http.route([...pages, '/v1/openapi.json'], this.api.function);
  }
}
