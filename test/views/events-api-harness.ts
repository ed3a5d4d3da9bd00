import { authenticatedApi } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { EVENT_ROUTES } from '../../lambdas/views/http/event-routes.ts';
import { API_KEY, ApiHarness, PaymentsApiHarness } from '../payments/payments-api-harness.ts';
import { ProjectedViews } from './projected-views.ts';

/** The events API beside a payments API, on one store. */
export class EventsApiHarness extends ApiHarness {
  readonly payments: PaymentsApiHarness;

  constructor(payments = new PaymentsApiHarness()) {
    super();
    this.payments = payments;
    this.registerKey(API_KEY, {});
  }

  protected open(): (event: GatewayEvent) => Promise<GatewayResult> {
    const { store, clock } = this.payments;
    return authenticatedApi(EVENT_ROUTES, {
      transitions: store.ledger,
      views: new ProjectedViews(store),
      digest: systemDigest,
      telemetry: this.telemetry,
      keys: this.keys,
      clock,
    });
  }
}
