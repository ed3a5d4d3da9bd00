/** The types of the API, made from its description by `npm run docs:tables`. Do not edit. */

export interface paths {
    "/v1/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPayments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getPayment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/charges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCharges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/disputes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listDisputes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reports/volume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVolumes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listExports"];
        put?: never;
        post: operations["createExport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ledger/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listLedgerEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ledger/entries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getLedgerEntry"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/balances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listBalances"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/corrections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["createCorrection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/payments/{id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resolvePayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/payments/{id}/annotations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["annotatePayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/mismatches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMismatches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/activity/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listKeys"];
        put?: never;
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys/{id}/roll": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rollKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["revokeKey"];
        trace?: never;
    };
    "/v1/admin/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listLimits"];
        put?: never;
        post: operations["setLimit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/mismatches/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMismatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/payments/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getApproval"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/approvals/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["approveRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/approvals/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rejectRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTenants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listQueues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queues/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listQueueEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queues/{id}/redrive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["redriveQueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["searchPayments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/idempotency_keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["findIdempotencyRecord"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/idempotency_keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getIdempotencyRecord"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/{id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listJobRuns"];
        put?: never;
        post: operations["startJobRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/{id}/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getJobRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWebhookEndpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWebhookEndpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/rotate_secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["replayWebhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/deliveries/{delivery}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWebhookDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/replays/{replay}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWebhookReplay"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        CreateExport: {
            /**
             * @description The kind of the rows.
             * @enum {string}
             */
            kind: "entries" | "payments" | "refunds" | "disputes" | "events";
            /**
             * Format: date
             * @description The first day, in UTC.
             */
            from: string;
            /**
             * Format: date
             * @description The last day, in UTC: at most 366 days with `from`.
             */
            to: string;
            /**
             * @description Only rows in this currency.
             * @example EUR
             * @enum {string}
             */
            currency?: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
            /**
             * @description For `entries`: only those on this account.
             * @enum {string}
             */
            account?: "processor_clearing" | "merchant_payable" | "refunds" | "fees" | "disputes" | "late_receipts" | "corrections";
            /**
             * @description For `payments`, `refunds` and `disputes`: only those with this status, which must be one of theirs.
             * @enum {string}
             */
            status?: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review" | "open" | "won" | "lost";
            /**
             * @description For `events`: only those of this type.
             * @enum {string}
             */
            type?: "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required";
            /**
             * Format: int64
             * @description For `payments`: only those of this amount or more, in minor units of any currency.
             */
            amount_from?: number;
            /**
             * Format: int64
             * @description For `payments`: only those of this amount or less, in minor units of any currency.
             */
            amount_to?: number;
        };
        CreateCorrection: {
            /**
             * @description The payment whose postings are corrected.
             * @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp
             */
            payment: string;
            /**
             * @description The reason. Stored until it is erased.
             * @example Booked twice by hand
             */
            reason: string;
            /**
             * Format: int32
             * @description The sequence of the transition whose set of postings is reversed. Not together with `postings`.
             */
            reverses?: number;
            /** @description A new set of postings whose debits equal its credits. Not together with `reverses`. */
            postings?: components["schemas"]["CorrectionLeg"][];
            /** @description Returns the postings that would be made, and the balances of the payment before and after. Nothing is written, and `Idempotency-Key` is neither needed nor used up. */
            dry_run?: boolean;
        } & (unknown | unknown);
        CorrectionLeg: {
            /**
             * @description An account of the chart of accounts.
             * @enum {string}
             */
            account: "processor_clearing" | "merchant_payable" | "refunds" | "fees" | "disputes" | "late_receipts" | "corrections";
            /** @enum {string} */
            direction: "debit" | "credit";
            /**
             * Format: int64
             * @description In minor units of the payment’s currency.
             */
            amount: number;
        };
        ResolvePayment: {
            /**
             * @description The outcome that the operator determined.
             * @enum {string}
             */
            outcome: "succeeded" | "failed";
            /** @description The refund (`ref_…`), capture (`cap_…`) or cancellation (`can_…`) to decide. Without it, the payment itself. */
            change?: string;
            /** @description The id of the charge, whose metadata must name the payment. Only with `succeeded`; required when the payment has none. */
            charge_id?: string;
            /**
             * Format: int64
             * @description The captured amount to post, in minor units of the payment’s currency, which the processor’s books must show. Only with `succeeded`; required when the payment’s `failure.code` is `wrong_amount`. Default: the requested amount.
             * @example 600
             */
            amount?: number;
            /**
             * @description The reason. Stored until it is erased.
             * @example Seen on the bank statement of 3 March
             */
            reason: string;
            /** @description Decides without the processor’s books. Refused while they can be read, and recorded with the decision. The books of a processor without a look-up cannot be read. */
            override?: boolean;
            /** @description Returns the postings that would be made, and the balances of the payment before and after. Nothing is written, and `Idempotency-Key` is neither needed nor used up. */
            dry_run?: boolean;
        };
        AnnotatePayment: {
            /**
             * @description The error in the record, or its explanation. Stored until it is erased.
             * @example Charged for the wrong order; see ticket 4711
             */
            reason: string;
            /**
             * Format: int32
             * @description The sequence of the annotated transition. Default: the payment as a whole.
             */
            annotates?: number;
        };
        CreateKey: {
            /**
             * @description The tenant that owns the key.
             * @example ten_k3jx5aqhz4m2nrb7
             */
            tenant: string;
            /** @enum {string} */
            mode: "test" | "live";
            /**
             * @description The purpose of the key.
             * @example Web shop
             */
            name: string;
            scopes: ("payments:read" | "payments:write" | "events:read" | "webhooks:read" | "webhooks:write" | "ledger:read" | "exports:read" | "exports:write")[];
            /**
             * Format: int32
             * @description Number of days after which the key is refused. By default, it does not expire.
             */
            expires_in_days?: number;
        };
        RollKey: {
            /**
             * Format: int32
             * @description How long the old key stays valid; 0 revokes it immediately. Default: 24.
             */
            overlap_hours?: number;
        };
        RevokeKey: {
            /**
             * @description A revoked key stays revoked.
             * @constant
             */
            revoked: true;
        };
        SetLimit: {
            /**
             * @description The tenant whose requests are limited.
             * @example ten_k3jx5aqhz4m2nrb7
             */
            tenant: string;
            /** @enum {string} */
            mode: "test" | "live";
            /** @enum {string} */
            kind: "payments" | "reads" | "processor_reads" | "admin";
            /** @description Requests per second. Null, together with `burst`, restores the limit of the deployment. */
            rate: number | null;
            /** @description Maximum burst of requests after a pause. */
            burst: number | null;
        };
        Verdict: Record<string, never>;
        RedriveQueue: Record<string, never>;
        StartJobRun: {
            /**
             * Format: int64
             * @description The scheduled time of the run, in Unix seconds. Defaults to now. At most 30 days ago.
             * @example 1772366400
             */
            scheduled_for?: number;
        };
        RotateWebhookSecret: {
            /**
             * Format: int32
             * @description How long the previous secret continues to sign in addition to the new one. Default: 86400.
             * @example 3600
             */
            overlap_seconds?: number;
        };
        ReplayWebhooks: {
            /**
             * Format: int64
             * @description Unix seconds, inclusive.
             * @example 1772366400
             */
            created_from: number;
            /**
             * Format: int64
             * @description Unix seconds, exclusive; at most 31 days after `created_from`.
             * @example 1772452800
             */
            created_to: number;
            /**
             * @description The event types to deliver again. Default: all types of the endpoint.
             * @example [
             *       "*"
             *     ]
             */
            events?: "*"[] | ("payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required" | "webhook_endpoint.disabled")[];
        };
        PaymentList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Payment"][];
            /** @description Whether there are more in the requested direction: older ones, or newer ones with `ending_before`. */
            has_more: boolean;
            /** @description Given while `has_more` is true: request the next page with it as `starting_after`, or as `ending_before`. It is the last id that was examined. A page is full unless no more than 1000 entries were examined and too few of them match the filters; it can then be short or empty although there are more. */
            next_cursor?: string;
        } & {
            [key: string]: unknown;
        };
        Payment: {
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            object: "payment";
            /**
             * Format: int64
             * @description The requested amount, in minor units.
             */
            amount: number;
            /**
             * Format: int64
             * @description The captured amount, in minor units.
             */
            amount_captured: number;
            /**
             * Format: int64
             * @description The refunded amount, in minor units.
             */
            amount_refunded: number;
            /**
             * Format: int64
             * @description The amount of disputes that are open or lost, in minor units.
             */
            amount_disputed: number;
            /** @example EUR */
            currency: string;
            /**
             * @description `processing` means that the outcome is not known yet. Poll with GET.
             * @enum {string}
             */
            status: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
            source: string;
            /** @enum {string} */
            capture: "automatic" | "manual";
            /** @description The action required of the payer. Present only while the status is `requires_action`. */
            next_action?: {
                /** @constant */
                type: "redirect";
                url: string;
            } & {
                [key: string]: unknown;
            };
            processor: {
                name: string;
                charge_id: string | null;
                /**
                 * Format: int64
                 * @description The processor’s fees for the charge, its refunds and disputes, in the currency of the payment; omitted until it has reported one, in minor units.
                 */
                fee?: number;
                /** @description Its fees in other currencies, in which the account is settled. Omitted when there are none. */
                other_fees?: ({
                    /**
                     * Format: int64
                     * @description The fee, in minor units.
                     */
                    amount: number;
                    /** @example USD */
                    currency: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
            failure: ({
                code: string;
                message: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /**
             * @description The reason for the cancellation. Present only while the status is `canceled`.
             * @enum {string}
             */
            cancellation_reason?: "requested" | "expired" | "abandoned";
            reference: string | null;
            description: string | null;
            metadata: {
                [key: string]: string;
            };
            /** @description As requested. Omitted when the default page of the deployment is used. */
            return_url?: string;
            /**
             * @description `description`, `metadata` and `return_url` were erased. Omitted otherwise.
             * @constant
             */
            details_erased?: true;
            /** @description The disputes of the payment, oldest first. Omitted while there are none. */
            disputes?: components["schemas"]["Dispute"][];
            /**
             * Format: int64
             * @description Number of annotations by operators (`GET /v1/annotations?payment=…`). Omitted while there are none.
             */
            annotations?: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            livemode: boolean;
        } & {
            [key: string]: unknown;
        };
        Dispute: {
            /**
             * @description `dsp_…`, with the processor’s id at its end.
             * @example dsp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp_dp_1PgafmB7WZ01zgkW
             */
            id: string;
            /** @constant */
            object: "dispute";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /** @description The disputed charge at the processor. */
            charge_id: string;
            /**
             * Format: int64
             * @description The disputed amount, in minor units.
             */
            amount: number;
            /** @example EUR */
            currency: string;
            /**
             * @description The payer’s bank holds the money while the status is `open` or `lost`. `won` means that the money was returned.
             * @enum {string}
             */
            status: "open" | "won" | "lost";
            /**
             * Format: int64
             * @description Time at which Payonce recorded it. Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        /** @description RFC 9457. */
        Problem: {
            /** @constant */
            type: "about:blank";
            title: string;
            /** Format: int64 */
            status: number;
            /**
             * @description Stable. Programs should decide by this member only.
             * @enum {string}
             */
            code: "invalid_json" | "invalid_request" | "unknown_field" | "unknown_parameter" | "card_number_not_allowed" | "secret_not_allowed" | "url_not_allowed" | "unbalanced" | "missing_idempotency_key" | "invalid_idempotency_key" | "unauthorized" | "invalid_signature" | "payment_failed" | "payment_canceled" | "capture_failed" | "cancellation_failed" | "refund_failed" | "insufficient_scope" | "insufficient_role" | "livemode_not_available" | "own_approval" | "testmode_not_available" | "forbidden" | "not_found" | "method_not_allowed" | "idempotency_key_in_progress" | "webhook_endpoint_limit" | "webhook_endpoint_disabled" | "webhook_replay_running" | "too_many_exports" | "idempotency_key_expired" | "already_reversed" | "approval_ended" | "approval_outdated" | "key_ended" | "last_owner_key" | "nothing_to_redrive" | "reference_already_used" | "payment_not_attempted" | "capture_not_attempted" | "cancellation_not_attempted" | "refund_not_attempted" | "order_not_attempted" | "out_of_stock" | "order_canceled" | "payment_not_capturable" | "payment_not_cancelable" | "payment_not_refundable" | "payment_not_in_review" | "change_not_undecided" | "charge_unknown_at_processor" | "amount_differs_from_processor" | "processor_books_unreadable" | "override_not_allowed" | "change_in_progress" | "too_many_refunds" | "amount_exceeds_left" | "body_too_large" | "unsupported_media_type" | "idempotency_key_payload_mismatch" | "no_processor_for_payment" | "rate_limited" | "internal_error" | "balance_too_large" | "no_processor_configured" | "processor_unavailable" | "temporarily_unavailable" | "timeout";
            /** @description For people; may change. */
            detail: string;
            /**
             * @description The field at fault.
             * @example metadata.order
             */
            param?: string;
            request_id: string;
            /** @description The conflicting payment. */
            payment_id?: string;
            /**
             * @description The status that does not allow the change.
             * @enum {string}
             */
            payment_status?: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
            /**
             * Format: int64
             * @description The time from which an operator may decide the change; Unix seconds.
             */
            decidable_from?: number;
            /**
             * Format: int64
             * @description What is left, in minor units.
             */
            amount_left?: number;
            /**
             * Format: int64
             * @description The amount that the processor shows as captured, held or refunded, in minor units.
             */
            processor_amount?: number;
            /**
             * @description The currency of `processor_amount`.
             * @example EUR
             */
            processor_currency?: string;
            /** @description The payment that failed or was canceled; after a failed change, the unchanged payment. */
            payment?: components["schemas"]["Payment"];
            /** @description The refund that failed. */
            refund?: components["schemas"]["Refund"];
            /** @description The order that was canceled. */
            order?: components["schemas"]["Order"];
            /** @description The conflicting order. */
            order_id?: string;
            /** @description The conflicting correction. */
            correction_id?: string;
        } & {
            [key: string]: unknown;
        };
        Refund: {
            /**
             * @description `ref_…`; `rtn_…` when Payonce returned a charge that the payment must not have. The id of a refund that was made at the processor has the processor’s id at its end.
             * @example ref_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            object: "refund";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /** @description The refunded charge at the processor. */
            charge_id: string;
            /**
             * Format: int64
             * @description The refunded amount, in minor units.
             */
            amount: number;
            /** @example EUR */
            currency: string;
            /**
             * @description `pending` means that the outcome is not known yet. A succeeded refund can still fail days later.
             * @enum {string}
             */
            status: "pending" | "succeeded" | "failed";
            /** @description The reason given in the request. */
            reason: string | null;
            /**
             * @description The reason was erased.
             * @constant
             */
            details_erased?: true;
            failure: ({
                code: string;
                message: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /**
             * Format: int64
             * @description When it was requested; for a refund that was made at the processor, when Payonce recorded it. Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            livemode: boolean;
        } & {
            [key: string]: unknown;
        };
        Order: {
            /** @example ord_q6hz4m2nrb7vwy3k3jx5aqt5ocdeflgu */
            id: string;
            /** @constant */
            object: "order";
            /**
             * @description `processing`: in progress, or being reversed; GET returns its progress. `completed`: paid and reserved. `canceled`: nothing was charged, or the charge was reversed, and nothing is reserved. `needs_review`: the outcome of its payment is undecidable, or its reversal failed; an operator must act.
             * @enum {string}
             */
            status: "processing" | "completed" | "canceled" | "needs_review";
            /**
             * Format: int64
             * @description The charged amount, in minor units.
             */
            amount: number;
            /** @example EUR */
            currency: string;
            items: ({
                sku: string;
                /** Format: int64 */
                quantity: number;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Null only after it was erased. */
            email: string | null;
            referrer: string | null;
            /** @description Omitted when the order names none. */
            affiliate?: string;
            /**
             * Format: int64
             * @description As requested. Omitted when the order names none.
             */
            shop_order?: number;
            /** @description As requested. Omitted when the default page of the deployment is used. */
            return_url?: string;
            /**
             * @description `email`, `referrer`, `affiliate` and `return_url` were erased. Omitted otherwise.
             * @constant
             */
            details_erased?: true;
            /** @description Its payment, at `/v1/payments/{id}`, where `next_action` contains a required action of the payer. */
            payment: string;
            /** @description The stock’s id of the reservation; null without one. */
            reservation: string | null;
            notifications: {
                /**
                 * @description The confirmation. `none`: the order was canceled before it was due. `delayed`: it could not be sent yet, and is retried. `unknown`: it may have been sent, and is not sent again automatically. `failed`: it was refused, or all retries failed; an operator may still send it. `capped`: its recipient had reached the daily limit of e-mails from you. It never reverses the order.
                 * @enum {string}
                 */
                email: "none" | "pending" | "sent" | "delayed" | "failed" | "capped" | "unknown";
            } & {
                [key: string]: unknown;
            };
            /**
             * @description The credit of the referrer. `none`: there is no referrer, or the order was canceled before it was due. `failed`: it was refused, or all retries failed; an operator may still give it. `no_referral_program`: the shop has none. `unknown`: its answer is missing, so it may have been given. It never reverses the order.
             * @enum {string}
             */
            referral: "none" | "pending" | "credited" | "failed" | "no_referral_program" | "unknown";
            /** @description The reason why the order cannot be fulfilled and is reversed. */
            failure: ({
                code: string;
                message: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            livemode: boolean;
        } & {
            [key: string]: unknown;
        };
        ChargeList: {
            /** @constant */
            object: "list";
            /** @description All charges with the payment’s id in their metadata, oldest first. */
            data: components["schemas"]["Charge"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        Charge: {
            /**
             * @description The id at the processor.
             * @example ch_k3jx5aqhz4m2
             */
            id: string;
            /** @constant */
            object: "charge";
            /** @description The name of the processor. */
            processor: string;
            /** @description Whether the request of this payment made the charge. */
            own: boolean;
            /** @enum {string} */
            status: "pending" | "requires_action" | "authorized" | "succeeded" | "declined" | "voided";
            /**
             * Format: int64
             * @description The requested amount, in minor units.
             */
            amount: number;
            /**
             * Format: int64
             * @description The captured amount, in minor units.
             */
            amount_captured: number;
            currency: string;
            fee: number | null;
            /** @description Its fees in other currencies. Omitted when there are none. */
            other_fees?: ({
                /**
                 * Format: int64
                 * @description The fee, in minor units.
                 */
                amount: number;
                currency: string;
            } & {
                [key: string]: unknown;
            })[];
            failure: ({
                code: string;
                message: string;
            } & {
                [key: string]: unknown;
            }) | null;
            refunds: ({
                id: string;
                status: string;
                /**
                 * Format: int64
                 * @description The amount, in minor units.
                 */
                amount: number;
            } & {
                [key: string]: unknown;
            })[];
            disputes: ({
                id: string;
                status: string;
                /**
                 * Format: int64
                 * @description The amount, in minor units.
                 */
                amount: number;
            } & {
                [key: string]: unknown;
            })[];
            /**
             * Format: int64
             * @description Unix time in seconds.
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The cause of the transition. */
        Cause: ({
            /** @constant */
            type: "request";
            /** @description The `request_id` of the request. */
            request_id: string;
            /**
             * @description The id of the API key, as `payonce keys list` shows it.
             * @example key_k3jx5aqhz4m2nrb7
             */
            api_key: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "operator";
            /** @description The name of the operator. */
            operator: string;
            /** @description The id of the operator’s key, or the subject at the identity provider. */
            identity: string;
            /** @description The `request_id` of the request. */
            request_id: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "callback";
            /** @description The id of the processor’s event. */
            event_id: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "event";
            /** @description The `event_id` of the event that requested the payment. */
            event_id: string;
            /** @description The sender of the event, by its name in the settings of the deployment. */
            sender: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "run";
            /** @description The run of a job. */
            run_id: string;
        } & {
            [key: string]: unknown;
        });
        Posting: {
            /** @example merchant_payable */
            account: string;
            /** @enum {string} */
            direction: "debit" | "credit";
            /**
             * Format: int64
             * @description Always positive, in minor units.
             */
            amount: number;
            currency: string;
        } & {
            [key: string]: unknown;
        };
        DisputeList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Dispute"][];
            /** @description Whether there are more in the requested direction: older ones, or newer ones with `ending_before`. */
            has_more: boolean;
            /** @description Given while `has_more` is true: request the next page with it as `starting_after`, or as `ending_before`. It is the last id that was examined. A page is full unless no more than 1000 entries were examined and too few of them match the filters; it can then be short or empty although there are more. */
            next_cursor?: string;
        } & {
            [key: string]: unknown;
        };
        VolumeList: {
            /** @constant */
            object: "list";
            /** @description Oldest first, then by currency. Types without events are omitted. */
            data: components["schemas"]["Volume"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        Volume: {
            /** @constant */
            object: "volume";
            /**
             * Format: date
             * @description The day, in UTC.
             */
            date: string;
            currency: string;
            /**
             * @description The type of the events.
             * @enum {string}
             */
            outcome: "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required";
            /**
             * Format: int64
             * @description The number of events.
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of their amounts, in minor units.
             */
            amount: number;
        } & {
            [key: string]: unknown;
        };
        Export: {
            /** @example exp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /** @constant */
            object: "export";
            /** @enum {string} */
            kind: "entries" | "payments" | "refunds" | "disputes" | "events";
            /**
             * Format: date
             * @description The first day, in UTC.
             * @example 2026-03-01
             */
            from: string;
            /**
             * Format: date
             * @description The last day, in UTC.
             * @example 2026-03-01
             */
            to: string;
            /** @description The filters of the request, by the names of its fields. */
            filters: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Rows before this time: the end of the last day, or the second of the request. Unix seconds. `GET /v1/balances?at=` with this time gives the sums of all entries until then.
             * @example 1772366400
             */
            until: number;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "failed";
            /**
             * Format: int64
             * @description Rows so far. The line with the names of the columns does not count.
             * @example 42
             */
            rows: number;
            /**
             * Format: int64
             * @description Bytes of the file so far.
             * @example 6120
             */
            bytes: number;
            /** @description The reason why there is no file. After `too_large`, request a shorter range; otherwise, repeat the request. */
            failure: ("not_readable" | "too_large" | "upload_lost") | null;
            /** @description The id of the API key, or the name of the operator. */
            requested_by: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            /** @description Unix time in seconds. */
            ended: number | null;
            /** @description The file is kept for 7 days. Unix time in seconds. */
            file_expires: number | null;
        } & {
            [key: string]: unknown;
        };
        ExportList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Export"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        ExportWithLink: {
            /** @example exp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /** @constant */
            object: "export";
            /** @enum {string} */
            kind: "entries" | "payments" | "refunds" | "disputes" | "events";
            /**
             * Format: date
             * @description The first day, in UTC.
             * @example 2026-03-01
             */
            from: string;
            /**
             * Format: date
             * @description The last day, in UTC.
             * @example 2026-03-01
             */
            to: string;
            /** @description The filters of the request, by the names of its fields. */
            filters: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Rows before this time: the end of the last day, or the second of the request. Unix seconds. `GET /v1/balances?at=` with this time gives the sums of all entries until then.
             * @example 1772366400
             */
            until: number;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "failed";
            /**
             * Format: int64
             * @description Rows so far. The line with the names of the columns does not count.
             * @example 42
             */
            rows: number;
            /**
             * Format: int64
             * @description Bytes of the file so far.
             * @example 6120
             */
            bytes: number;
            /** @description The reason why there is no file. After `too_large`, request a shorter range; otherwise, repeat the request. */
            failure: ("not_readable" | "too_large" | "upload_lost") | null;
            /** @description The id of the API key, or the name of the operator. */
            requested_by: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            /** @description Unix time in seconds. */
            ended: number | null;
            /** @description The file is kept for 7 days. Unix time in seconds. */
            file_expires: number | null;
            /** @description A link to the file that works without a key, for 15 minutes. Read the export again for a new link. */
            url: string | null;
            /** @description Unix time in seconds. */
            url_expires: number | null;
        } & {
            [key: string]: unknown;
        };
        LedgerEntryList: {
            /** @constant */
            object: "list";
            /** @description Oldest first; then by payment, sequence and place in the set. */
            data: components["schemas"]["LedgerEntry"][];
            /** @description Whether there are more after the last id of this page. */
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        LedgerEntry: {
            /** @description Opaque; for `starting_after`. */
            id: string;
            /** @constant */
            object: "ledger_entry";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /**
             * Format: int64
             * @description The sequence of the transition that posted it.
             */
            sequence: number;
            /**
             * @description Of that transition.
             * @enum {string}
             */
            type: "payment.created" | "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "payment.late_success" | "payment.fee_reported" | "capture.pending" | "capture.failed" | "void.pending" | "void.failed" | "refund.pending" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "ledger.corrected" | "payment.annotated";
            /**
             * @description `processor_clearing`: money that the processor holds for you. `merchant_payable`: money captured for you. `refunds`, `fees`, `disputes`: its parts refunded, deducted by the processor, withdrawn by banks. `late_receipts`: money of unexpected charges, owed to the payer. `corrections`: the contra account of operators’ corrections.
             * @enum {string}
             */
            account: "processor_clearing" | "merchant_payable" | "refunds" | "fees" | "disputes" | "late_receipts" | "corrections";
            /** @enum {string} */
            direction: "debit" | "credit";
            /**
             * Format: int64
             * @description Always positive, in minor units.
             */
            amount: number;
            currency: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        BalanceList: {
            /** @constant */
            object: "list";
            /** @description Accounts that have entries, by currency. */
            data: components["schemas"]["Balance"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        Balance: {
            /** @constant */
            object: "balance";
            /**
             * @description `processor_clearing`: money that the processor holds for you. `merchant_payable`: money captured for you. `refunds`, `fees`, `disputes`: its parts refunded, deducted by the processor, withdrawn by banks. `late_receipts`: money of unexpected charges, owed to the payer. `corrections`: the contra account of operators’ corrections.
             * @enum {string}
             */
            account: "processor_clearing" | "merchant_payable" | "refunds" | "fees" | "disputes" | "late_receipts" | "corrections";
            currency: string;
            /**
             * Format: int64
             * @description The sum of all debits, in minor units.
             */
            debit: number;
            /**
             * Format: int64
             * @description The sum of all credits, in minor units.
             */
            credit: number;
            /**
             * @description The side on which the account grows: `credit` for `merchant_payable` and `late_receipts`, `debit` for the others.
             * @enum {string}
             */
            normal_balance: "debit" | "credit";
            /**
             * Format: int64
             * @description In minor units, in the account’s own direction: `debit` less `credit` where `normal_balance` is `debit`, `credit` less `debit` where it is `credit`. So `processor_clearing` and `merchant_payable` are normally above zero; a balance below zero is on the other side.
             */
            balance: number;
        } & {
            [key: string]: unknown;
        };
        DryRun: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            object: "dry_run";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /**
             * @description The transition that would be appended.
             * @enum {string}
             */
            type: "payment.created" | "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "payment.late_success" | "payment.fee_reported" | "capture.pending" | "capture.failed" | "void.pending" | "void.failed" | "refund.pending" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "ledger.corrected" | "payment.annotated";
            /**
             * @description The status of the payment after it.
             * @enum {string}
             */
            payment_status: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
            /** @description Whether the request would wait for the approval of a second person. */
            needs_approval: boolean;
            /** @description Debits equal credits in every currency. */
            postings: components["schemas"]["Posting"][];
            /** @description The balances of this payment only, in minor units, in the direction of each account. */
            balances: ({
                /**
                 * @description `processor_clearing`: money that the processor holds for you. `merchant_payable`: money captured for you. `refunds`, `fees`, `disputes`: its parts refunded, deducted by the processor, withdrawn by banks. `late_receipts`: money of unexpected charges, owed to the payer. `corrections`: the contra account of operators’ corrections.
                 * @enum {string}
                 */
                account: "processor_clearing" | "merchant_payable" | "refunds" | "fees" | "disputes" | "late_receipts" | "corrections";
                currency: string;
                /** @enum {string} */
                normal_balance: "debit" | "credit";
                /** Format: int64 */
                before: number;
                /** Format: int64 */
                after: number;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        Correction: {
            /** @example cor_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /** @constant */
            object: "correction";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /**
             * Format: int64
             * @description The sequence of the correction’s own transition.
             */
            sequence: number;
            reason: string | null;
            /**
             * @description The reason was erased.
             * @constant
             */
            details_erased?: true;
            operator: string;
            /** @description The sequence of the transition whose postings it reversed. */
            reverses: number | null;
            /** @description Debits equal credits in every currency. */
            postings: components["schemas"]["Posting"][];
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        Approval: {
            /** @example apr_mm7d0qo0_k3jx5aqhz4m2nrb7vwy6t5ocde */
            id: string;
            /** @constant */
            object: "approval";
            /** @enum {string} */
            status: "pending_approval" | "approved" | "rejected" | "expired";
            tenant: string;
            /** @enum {string} */
            mode: "test" | "live";
            payment: string;
            request: components["schemas"]["ApprovalRequest"];
            /**
             * Format: int64
             * @description The amount that was compared with the limit, in minor units.
             */
            amount: number;
            currency: string;
            reason: string | null;
            /**
             * @description Present after the reason was erased.
             * @constant
             */
            details_erased?: true;
            effect: components["schemas"]["ApprovalEffect"];
            requested_by: components["schemas"]["OperatorPerson"];
            decided_by: components["schemas"]["OperatorPerson"] | null;
            decided: number | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            /**
             * Format: int64
             * @description Approvals and rejections are accepted until a minute before. Unix seconds.
             * @example 1772366400
             */
            expires: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The request of an operator, with its fields. */
        ApprovalRequest: ({
            /** @constant */
            type: "correction";
            reverses: number | null;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "decision";
            /** @enum {string} */
            outcome: "succeeded" | "failed";
            change: string | null;
            charge_id: string | null;
            amount: number | null;
            override: boolean;
        } & {
            [key: string]: unknown;
        });
        /** @description What an approval appends: exactly this, or it is refused. */
        ApprovalEffect: {
            /** @description The id that the correction or the decision will have. */
            id: string;
            /** @enum {string} */
            type: "payment.created" | "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "payment.late_success" | "payment.fee_reported" | "capture.pending" | "capture.failed" | "void.pending" | "void.failed" | "refund.pending" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "ledger.corrected" | "payment.annotated";
            /**
             * @description The status of the payment after it.
             * @enum {string}
             */
            payment_status: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
            /** @description Debits equal credits in every currency. */
            postings: components["schemas"]["Posting"][];
        } & {
            [key: string]: unknown;
        };
        OperatorPerson: {
            /** @description The name of the operator. */
            operator: string;
            /** @description The id of the operator’s key, or the subject at the identity provider. */
            identity: string;
        } & {
            [key: string]: unknown;
        };
        Resolved: components["schemas"]["Payment"] | components["schemas"]["Refund"] | components["schemas"]["DryRun"];
        Annotation: {
            /** @example ann_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /** @constant */
            object: "annotation";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /**
             * Format: int64
             * @description The sequence of the annotation’s own transition.
             */
            sequence: number;
            reason: string | null;
            /**
             * @description The reason was erased.
             * @constant
             */
            details_erased?: true;
            operator: string;
            /** @description The sequence of the annotated transition; null when the annotation concerns the payment as a whole. */
            annotates: number | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        MismatchList: {
            /** @constant */
            object: "list";
            /** @description Newest payment first. */
            data: components["schemas"]["Mismatch"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Mismatch: {
            /** @example mis_mm7d0qo0_k3jx5aqhz4m2nrb7vwy6t5ocde */
            id: string;
            /** @constant */
            object: "mismatch";
            /** @description Null when the payment does not exist. */
            tenant: string | null;
            mode: ("test" | "live") | null;
            /** @description The payment id in the charge’s metadata, even if that payment does not exist; null without one. */
            payment: string | null;
            /** @description Null when the payment does not exist. */
            payment_status: ("processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review") | null;
            currency: string;
            /**
             * Format: int64
             * @description By the processor’s list: captured, less refunds that succeeded, less disputes that are open or lost, over all charges with the payment’s id; before fees. For `fees_differ`: its fees for the charge, its refunds and disputes. In minor units.
             */
            processor_amount: number;
            /**
             * Format: int64
             * @description By the Ledger: debits less credits of `processor_clearing` over all transitions of the payment, corrections included, fees excluded. For `fees_differ`: the posted fees. In minor units.
             */
            ledger_amount: number;
            /**
             * Format: int64
             * @description `processor_amount` less `ledger_amount`.
             */
            difference: number;
            /** @description The charges at the processor, in this currency. */
            charges: string[];
            /**
             * @description `missing_in_ledger`: the Ledger has no posting. `missing_at_processor`: no charge there has captured money. `amounts_differ`: both have the money, with different amounts. `charges_differ`: the totals agree, but the amounts of the listed charges do not; their differences cancel each other out. `fees_differ`: the amounts agree, but the processor’s fees do not.
             * @enum {string}
             */
            kind: "missing_in_ledger" | "missing_at_processor" | "amounts_differ" | "charges_differ" | "fees_differ";
            /** @description The processor whose books differ. */
            processor: {
                name: string;
                /**
                 * @description The mode of its books.
                 * @enum {string}
                 */
                mode: "test" | "live";
                /** @description At the processor. */
                account: string;
            };
            /**
             * @description `suspected`: seen once; it disappears at the next comparison if the payment was just changing. `confirmed`: the books have differed by the same amount for at least ten minutes, and an alarm was raised.
             * @enum {string}
             */
            status: "suspected" | "confirmed";
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            first_seen: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            last_seen: number;
        } & {
            [key: string]: unknown;
        };
        ActivityList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Activity"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Activity: {
            id: string;
            /** @constant */
            object: "activity";
            /**
             * Format: int64
             * @description The place in the chain, from 1, without gaps.
             */
            sequence: number;
            /** @enum {string} */
            action: "api_key.created" | "api_key.rolled" | "api_key.revoked" | "limit.changed" | "correction.made" | "decision.made" | "annotation.made" | "approval.requested" | "approval.rejected" | "payment.erased" | "order.erased" | "webhook_endpoint.created" | "webhook_endpoint.updated" | "webhook_endpoint.secret_rotated" | "webhook_endpoint.deleted" | "webhooks.replay_requested" | "webhooks.resend_requested" | "webhooks.test_requested" | "export.requested" | "tenant.created" | "operator_key.created" | "operator_key.rolled" | "operator_key.revoked" | "job.run_requested" | "queue.redrive_requested" | "dead_letters.redrive_started" | "events.redrive_started" | "events.republish_started" | "views.rebuild_started" | "tables.recovery_started" | "row.put_back" | "settings.seen";
            caused_by: components["schemas"]["Actor"];
            /** @description The ids of the affected objects, most specific first: a correction and its payment. */
            about: string[];
            details: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The actor. `command`: the user of the command line of the deployment. `start`: a function that started. */
        Actor: ({
            /** @constant */
            type: "request";
            /** @description The `request_id` of the request. */
            request_id: string;
            /**
             * @description The id of the API key, as `payonce keys list` shows it.
             * @example key_k3jx5aqhz4m2nrb7
             */
            api_key: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "operator";
            /** @description The name of the operator. */
            operator: string;
            /** @description The id of the operator’s key, or the subject at the identity provider. */
            identity: string;
            /** @description The `request_id` of the request. */
            request_id: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "command";
            operator: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @constant */
            type: "start";
        } & {
            [key: string]: unknown;
        });
        KeyList: {
            /** @constant */
            object: "list";
            data: components["schemas"]["Key"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Key: {
            /** @example key_k3jx5aqhz4m2nrb7 */
            id: string;
            /** @constant */
            object: "key";
            /** @description The purpose of a tenant’s key, or the name of the operator. */
            name: string;
            /** @description Null for the key of a tenant. */
            role: ("viewer" | "operator" | "approver" | "owner") | null;
            /** @description Null for the key of an operator. */
            tenant: string | null;
            mode: ("test" | "live") | null;
            scopes: string[];
            /** @description The last four characters of the key. */
            hint: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            /**
             * @description The day of the last use, in UTC.
             * @example 2026-03-01
             */
            last_used: string | null;
            expires: number | null;
            revoked: number | null;
            /** @description The id of the key that has replaced it. */
            rolled_to: string | null;
        } & {
            [key: string]: unknown;
        };
        KeyWithSecret: {
            /** @example key_k3jx5aqhz4m2nrb7 */
            id: string;
            /** @constant */
            object: "key";
            /** @description The purpose of a tenant’s key, or the name of the operator. */
            name: string;
            /** @description Null for the key of a tenant. */
            role: ("viewer" | "operator" | "approver" | "owner") | null;
            /** @description Null for the key of an operator. */
            tenant: string | null;
            mode: ("test" | "live") | null;
            scopes: string[];
            /** @description The last four characters of the key. */
            hint: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            /**
             * @description The day of the last use, in UTC.
             * @example 2026-03-01
             */
            last_used: string | null;
            expires: number | null;
            revoked: number | null;
            /** @description The id of the key that has replaced it. */
            rolled_to: string | null;
            /** @description The key itself, in the first answer only. It is not stored, so a repeated request shows null. */
            secret: string | null;
        } & {
            [key: string]: unknown;
        };
        LimitList: {
            /** @constant */
            object: "list";
            data: components["schemas"]["Limit"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Limit: {
            /** @constant */
            object: "limit";
            tenant: string;
            /** @enum {string} */
            mode: "test" | "live";
            /**
             * @description The kind of request. Each kind has a separate limit.
             * @enum {string}
             */
            kind: "payments" | "reads" | "processor_reads" | "admin";
            /**
             * Format: int64
             * @description Requests per second.
             */
            rate: number;
            /**
             * Format: int64
             * @description Maximum burst of requests after a pause.
             */
            burst: number;
            /** @description Whether the tenant has a limit of its own; false for the limit of the deployment. */
            is_own: boolean;
        } & {
            [key: string]: unknown;
        };
        OperatorSelf: {
            /** @constant */
            object: "operator";
            /** @description The name of the operator. */
            operator: string;
            /** @description The id of the operator’s key, or the subject at the identity provider. */
            identity: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "approver" | "owner";
        } & {
            [key: string]: unknown;
        };
        Timeline: {
            /** @constant */
            object: "timeline";
            payment: string;
            tenant: string;
            livemode: boolean;
            /** @description Oldest first. */
            data: (({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "transition";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                /** @enum {string} */
                type: "payment.created" | "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "payment.late_success" | "payment.fee_reported" | "capture.pending" | "capture.failed" | "void.pending" | "void.failed" | "refund.pending" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "ledger.corrected" | "payment.annotated";
                /**
                 * @description The status of the payment after the transition.
                 * @enum {string}
                 */
                status: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
                caused_by: components["schemas"]["Cause"];
                /** @description The subject of the transition besides the payment: a refund, a dispute, a correction, a decision or an annotation. */
                subject: ({
                    /** @example refund */
                    object: string;
                    id: string;
                    /** @description The reason that was given for it. */
                    reason: string | null;
                } & {
                    [key: string]: unknown;
                }) | null;
                postings: components["schemas"]["Posting"][];
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "claim";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                operation: string;
                owner: string;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "takeover";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                operation: string;
                from_owner: string;
                /** @description Whether the owner had sent nothing and released the claim. Otherwise, its lease ended. */
                was_released: boolean;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "call";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                operation: string;
                /** @enum {string} */
                call: "send" | "look";
                /** @description The kind of the processor’s answer, for example `succeeded`. `no_response`: the request may have taken effect. `not_sent`: it has not. `absent`, `unavailable`: results of a look-up. */
                result: string;
                /** Format: int64 */
                duration_ms: number;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "answer";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                operation: string;
                /** Format: int64 */
                http_status: number;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "open";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                operation: string;
                /** @description The owner released its claim, because it had sent nothing. */
                was_released: boolean;
                lease_until: string | null;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "callback";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                /** @description Of the processor. */
                event_id: string;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "event";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                event_id: string;
                /** @enum {string} */
                type: "payment.created" | "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "payment.late_success" | "payment.fee_reported" | "capture.pending" | "capture.failed" | "void.pending" | "void.failed" | "refund.pending" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "ledger.corrected" | "payment.annotated";
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "delivery";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                delivery: string;
                endpoint: string;
                event_id: string;
                /** @enum {string} */
                delivery_status: "pending" | "delivered" | "failed" | "canceled";
                http_status: number | null;
                error: string | null;
                /** Format: int64 */
                duration_ms: number;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "alarm";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                alarm: string;
            } & {
                [key: string]: unknown;
            }) | ({
                /** @constant */
                object: "timeline_entry";
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** @constant */
                kind: "act";
                /** @description The transition that it belongs to. */
                sequence: number | null;
                activity: string;
                /** @enum {string} */
                action: "api_key.created" | "api_key.rolled" | "api_key.revoked" | "limit.changed" | "correction.made" | "decision.made" | "annotation.made" | "approval.requested" | "approval.rejected" | "payment.erased" | "order.erased" | "webhook_endpoint.created" | "webhook_endpoint.updated" | "webhook_endpoint.secret_rotated" | "webhook_endpoint.deleted" | "webhooks.replay_requested" | "webhooks.resend_requested" | "webhooks.test_requested" | "export.requested" | "tenant.created" | "operator_key.created" | "operator_key.rolled" | "operator_key.revoked" | "job.run_requested" | "queue.redrive_requested" | "dead_letters.redrive_started" | "events.redrive_started" | "events.republish_started" | "views.rebuild_started" | "tables.recovery_started" | "row.put_back" | "settings.seen";
                caused_by: components["schemas"]["Actor"];
                about: string[];
            } & {
                [key: string]: unknown;
            }))[];
            has_more: boolean;
            /** @description For `starting_after`. Null on the last page. */
            next_sequence: number | null;
        } & {
            [key: string]: unknown;
        };
        ApprovalList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Approval"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        TenantList: {
            /** @constant */
            object: "list";
            /** @description By their ids. */
            data: components["schemas"]["Tenant"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Tenant: {
            /** @example ten_k3jx5aqhz4m2nrb7 */
            id: string;
            /** @constant */
            object: "tenant";
            name: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        QueueList: {
            /** @constant */
            object: "list";
            /** @description All queues. */
            data: components["schemas"]["Queue"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Queue: {
            /**
             * @description One of `claims`, `inquiries`, `returns`, `orders`, `holds`, `orphans`, `unmatched_callbacks`, or the name of a queue of messages (Amazon SQS), as on the dashboard.
             * @example holds
             */
            id: string;
            /** @constant */
            object: "queue";
            description: string;
            /** @description The job whose runs count its entries as `left`; null when none does. */
            job: string | null;
            /** @description Whether its messages could not be handled and wait for an operator, because no function receives them. */
            is_kept: boolean;
            /** @description The queue or function that processes redriven messages. Null when a redrive is not possible. */
            redrive_to: string | null;
            /** @description The reason why a redrive is not possible, and the alternative, for people. Null when it is possible. */
            no_redrive_because: string | null;
            /**
             * Format: int64
             * @description The number of entries, counted up to some hundreds; approximate for messages of Amazon SQS.
             */
            waiting: number;
            /** @description Whether there are more entries than were counted. */
            more_waiting: boolean;
            /** @description The age of the oldest counted entry. Seconds. Null for messages: Amazon SQS reports their age only to CloudWatch, which the dashboard shows. */
            oldest_age: number | null;
        } & {
            [key: string]: unknown;
        };
        QueueEntryList: {
            /** @constant */
            object: "list";
            /** @description In the order of the queue. */
            data: components["schemas"]["QueueEntry"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        QueueEntry: {
            /** @description The place of the entry, or the id of the message. */
            id: string;
            /** @constant */
            object: "queue_entry";
            /**
             * @description One of `claims`, `inquiries`, `returns`, `orders`, `holds`, `orphans`, `unmatched_callbacks`, or the name of a queue of messages (Amazon SQS), as on the dashboard.
             * @example holds
             */
            queue: string;
            /** @description The payment or the order; null when it is not known. */
            about: string | null;
            /** @description The operation, the charge, or the call to a vendor. */
            part: string | null;
            /** @description Start of the entry. Null when the row cannot be read. Unix seconds. */
            since: number | null;
            /** @description Seconds. */
            age: number | null;
            /** @description Whether no job can end it. */
            needs_operator: boolean;
            /** @description The reason why a message was given up, if its sender gave one. */
            reason: string | null;
        } & {
            [key: string]: unknown;
        };
        Redrive: {
            /** @constant */
            object: "redrive";
            /**
             * @description One of `claims`, `inquiries`, `returns`, `orders`, `holds`, `orphans`, `unmatched_callbacks`, or the name of a queue of messages (Amazon SQS), as on the dashboard.
             * @example holds
             */
            queue: string;
            /** @description The queue or the function that the messages are moved to. */
            to: string;
            /**
             * Format: int64
             * @description Approximate number of messages that were waiting when the request arrived.
             */
            waiting: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        IdempotencyRecord: {
            /** @constant */
            object: "idempotency_record";
            /** @description The operation that the key names. It is also its key at the processor. */
            operation: string;
            payment: string | null;
            /**
             * @description `in_progress`: its owner works on it. `lease_ended`: its owner did not complete it in time; the next request, or the job `resolve`, takes it over. `released`: its owner released it, because it had sent nothing. `completed`: a repeated request gets the stored answer. `expired`: a repeated request is refused with `idempotency_key_expired`, and has no second effect.
             * @enum {string}
             */
            state: "in_progress" | "lease_ended" | "released" | "completed" | "expired";
            /** @description The attempt that holds or completed it. */
            owner: string | null;
            earlier_owners: ({
                owner: string;
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                until: string;
                was_released: boolean;
            } & {
                [key: string]: unknown;
            })[];
            /** @description The calls to the processor by the owner that completed it. */
            calls: ({
                /** @enum {string} */
                call: "send" | "look";
                result: string;
                /**
                 * Format: date-time
                 * @description RFC 3339, with milliseconds.
                 */
                at: string;
                /** Format: int64 */
                duration_ms: number;
            } & {
                [key: string]: unknown;
            })[];
            /** @description The fingerprint of the body and the query of the request. Another request under the key is refused. */
            fingerprint: ({
                /** Format: int64 */
                version: number;
                sha256: string;
            } & {
                [key: string]: unknown;
            }) | null;
            claimed: string | null;
            /** @description Time of the latest claim, takeover, release or completion. */
            changed: string | null;
            lease_until: string | null;
            /** @description The stored answer, without personal data, which is read again for each repetition. Viewers get only the status. */
            answer: ({
                /** Format: int64 */
                status: number;
                headers: {
                    [key: string]: string;
                } | null;
                body: string | null;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Null while it is open, and for a record that never expires. */
            expires: string | null;
        } & {
            [key: string]: unknown;
        };
        Audit: {
            /** @constant */
            object: "audit";
            /** @description The bucket of the archive. Null when the deployment has none; no verification then runs automatically. */
            archive: string | null;
            /** @description Of each kind. */
            verified: components["schemas"]["Verified"][];
            /** @description Whether the newest manifest is more than three hours old. */
            manifests_overdue: boolean;
            /** @description Newest first. */
            manifests: components["schemas"]["Manifest"][];
        } & {
            [key: string]: unknown;
        };
        Verified: {
            /**
             * @description `day`: a day, verified in the night after it. `part`: a part of everything before the month. `asked`: a range of time requested by an operator.
             * @enum {string}
             */
            kind: "day" | "part" | "asked";
            /** @description The hour in which the last verification was due. Null when none has been due yet. Unix seconds. */
            due: number | null;
            /** @description Whether no verification has ended since. */
            overdue: boolean;
            /**
             * Format: int64
             * @description Number of records that the auditor did not write, or that cannot be read.
             */
            unreadable: number;
            /** @description Newest first. Verifications with violations are shown longer than others. */
            verifications: components["schemas"]["Verification"][];
        } & {
            [key: string]: unknown;
        };
        Verification: {
            /** @constant */
            object: "verification";
            /**
             * Format: int64
             * @description Start of the verified range of time, inclusive. Unix seconds.
             * @example 1772366400
             */
            from: number;
            /**
             * Format: int64
             * @description End of the verified range of time, exclusive. Unix seconds.
             * @example 1772366400
             */
            to: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            began: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            ended: number;
            /**
             * @description `failed`: it ended without a result, so this range of time is not verified.
             * @enum {string}
             */
            verdict: "holds" | "differs" | "failed";
            /** @description The reason of the failure; null otherwise. */
            failure: string | null;
            /** @description Rows of the Ledger; null when it failed. */
            rows: number | null;
            /** @description Lines of the archive; null when it failed. */
            lines: number | null;
            /** @description Objects that manifests list; null when it failed. */
            objects: number | null;
            /** @description Manifests; null when it failed. */
            manifests: number | null;
            /**
             * Format: int64
             * @description Number of violations.
             */
            findings: number;
            /** @description The first 20 violations, each with the fields of its kind. `payonce verify` lists all. */
            first_findings: ({
                kind: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        Manifest: {
            /** @constant */
            object: "manifest";
            /** Format: int64 */
            number: number;
            created: number | null;
            /** @description Number of listed objects. */
            objects: number | null;
            /** @description The lines of these objects. The archive may repeat lines. */
            lines: number | null;
            /** @description SHA-256 in hexadecimal. */
            hash: string | null;
            /** @description The hash of the previous manifest. */
            previous: string | null;
            signed: boolean | null;
            /** @description The reason why it cannot be read; all other fields are then null. */
            failure: string | null;
        } & {
            [key: string]: unknown;
        };
        JobList: {
            /** @constant */
            object: "list";
            data: components["schemas"]["Job"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        Job: {
            id: string;
            /** @constant */
            object: "job";
            /** @description The purpose of the job. */
            why: string;
            /**
             * @description In the syntax of EventBridge Scheduler: `rate(…)` or `cron(…)`.
             * @example cron(20 1 * * ? *)
             */
            schedule: string;
            /** @description An IANA name; a rate has none. */
            time_zone: string | null;
            /**
             * @description Whether two of its runs may be in progress at once.
             * @enum {string}
             */
            overlap: "forbid" | "allow";
            /** @description The service that runs it, by its name in `payonce:jobTargets`; null for a job of Payonce. */
            target: string | null;
            /** @description The run of the latest scheduled time. */
            last_run: components["schemas"]["JobRun"] | null;
            /** @description Null before the first run of a `rate(…)`, which counts from the latest run. */
            next_run: number | null;
        } & {
            [key: string]: unknown;
        };
        JobRun: {
            /**
             * @description The job’s id and the scheduled time, the same for every caller.
             * @example close-days:2026-03-01T12:00:00Z
             */
            id: string;
            /** @constant */
            object: "job_run";
            job: string;
            /**
             * Format: int64
             * @description The scheduled time of the run, not the time of its start.
             * @example 1772366400
             */
            scheduled_for: number;
            /**
             * @description `succeeded` when all items were processed, even if some failed: the next run retries those. For a job of another service: when it accepted the run.
             * @enum {string}
             */
            status: "accepted" | "running" | "succeeded" | "failed";
            /**
             * Format: int64
             * @description Time at which the run was accepted.
             * @example 1772366400
             */
            created: number;
            started: number | null;
            ended: number | null;
            /** @description From its beginning to its end, in seconds. */
            duration: number | null;
            /** Format: int64 */
            done: number;
            /**
             * Format: int64
             * @description Checked, and not due or not possible yet.
             */
            left: number;
            /**
             * Format: int64
             * @description Failed and reported; a later run retries them.
             */
            failed: number;
            /**
             * Format: int64
             * @description Failed items that crashed their worker repeatedly and were skipped.
             */
            skipped: number;
            /** @description The ids of the first of these items. */
            skipped_items: string[];
            /** @description The ids of the first other items that failed, or their queues. */
            failed_items: string[];
            /** @description The reason why the run failed, or why its target has not accepted it yet. */
            reason: string | null;
        } & {
            [key: string]: unknown;
        };
        JobRunList: {
            /** @constant */
            object: "list";
            /** @description The latest scheduled time first. */
            data: components["schemas"]["JobRun"][];
            /** @description Whether there are runs of earlier times. */
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        WebhookEndpointList: {
            /** @constant */
            object: "list";
            data: components["schemas"]["WebhookEndpoint"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        WebhookEndpoint: {
            /** @example we_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            url: string;
            events: string[];
            description: string | null;
            enabled: boolean;
            /** @description The reason why nothing is sent: `requested`, `gone` (it answered 410), or `failing` (for three days). */
            disabled: ({
                /** @enum {string} */
                reason: "requested" | "gone" | "failing";
                /**
                 * Format: int64
                 * @description Unix time in seconds.
                 * @example 1772366400
                 */
                at: number;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description The time until which the previous secret still signs. */
            previous_secret_expires: number | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            livemode: boolean;
        } & {
            [key: string]: unknown;
        };
        WebhookEndpointWithSecret: {
            /** @example we_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            url: string;
            events: string[];
            description: string | null;
            enabled: boolean;
            /** @description The reason why nothing is sent: `requested`, `gone` (it answered 410), or `failing` (for three days). */
            disabled: ({
                /** @enum {string} */
                reason: "requested" | "gone" | "failing";
                /**
                 * Format: int64
                 * @description Unix time in seconds.
                 * @example 1772366400
                 */
                at: number;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description The time until which the previous secret still signs. */
            previous_secret_expires: number | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            livemode: boolean;
            /**
             * Format: starts_with
             * @description Of Standard Webhooks: base64 after `whsec_`.
             */
            secret: string;
        } & {
            [key: string]: unknown;
        };
        WebhookReplay: {
            id: string;
            /** @constant */
            object: "webhook_replay";
            endpoint: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created_from: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created_to: number;
            events: string[];
            /** @enum {string} */
            status: "running" | "completed" | "canceled";
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
        WebhookDeliveryList: {
            /** @constant */
            object: "list";
            data: components["schemas"]["WebhookDelivery"][];
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        WebhookDelivery: {
            /** @example dlv_1772366400000m2nrb7vwy6t5ocdeflguspk3jx5aqhz4 */
            id: string;
            /** @constant */
            object: "webhook_delivery";
            endpoint: string;
            event: string;
            type: string;
            /**
             * @description `canceled` when its endpoint was disabled or deleted first.
             * @enum {string}
             */
            status: "pending" | "delivered" | "failed" | "canceled";
            attempts: ({
                /**
                 * Format: int64
                 * @description Unix time in seconds.
                 * @example 1772366400
                 */
                at: number;
                /** Format: int64 */
                duration_ms: number;
                status: number | null;
                /** @description The reason why there was no answer, for example `timeout`. */
                error: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description The first kilobyte of the latest answer. */
            last_answer: string | null;
            next_attempt: number | null;
            delivered: number | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPayments: {
        parameters: {
            query?: {
                /** @description Only payments with this status. */
                status?: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
                /** @description Only payments with this `reference`, including failed ones. */
                reference?: string;
                /** @description Only the payment of this charge, by the books of the processor, with returned charges. Not together with `reference`. These reads have a separate limit, a tenth of the limit of other reads. */
                charge_id?: string;
                /** @description Only those of this requested amount, in minor units of any currency. It needs `created_from` and `created_to`, at most 31 days after `created_from`. */
                amount?: number;
                /** @description Only payments with this address as `receipt_email` in their `metadata`; case-insensitive. */
                email?: string;
                /** @description Unix seconds, inclusive. */
                created_from?: number;
                /** @description Unix seconds, exclusive. */
                created_to?: number;
                /** @description Maximum number of payments. Default: 10. */
                limit?: number;
                /** @description The `id` of one of your payments: the page begins after it, with older ones. */
                starting_after?: string;
                /** @description The `id` of one of your payments: the page ends immediately before it, with newer ones. Not together with `starting_after`. */
                ending_before?: string;
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of payments. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentList"];
                };
            };
        };
    };
    getPayment: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
        };
    };
    listCharges: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The charges. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChargeList"];
                };
            };
        };
    };
    listDisputes: {
        parameters: {
            query?: {
                /** @description Only disputes with this status. */
                status?: "open" | "won" | "lost";
                /** @description Unix seconds, inclusive. */
                created_from?: number;
                /** @description Unix seconds, exclusive. */
                created_to?: number;
                /** @description Maximum number of disputes. Default: 10. */
                limit?: number;
                /** @description The `id` of one of your disputes: the page begins after it, with older ones. */
                starting_after?: string;
                /** @description The `id` of one of your disputes: the page ends immediately before it, with newer ones. Not together with `starting_after`. */
                ending_before?: string;
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of disputes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeList"];
                };
            };
        };
    };
    getVolumes: {
        parameters: {
            query: {
                /** @description The first day, in UTC. */
                from: string;
                /** @description The last day, in UTC: at most 92 days with `from`. */
                to: string;
                /** @description Only volumes in this currency. */
                currency?: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The volumes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeList"];
                };
            };
        };
    };
    listExports: {
        parameters: {
            query?: {
                /** @description Maximum number of exports. Default: 100. */
                limit?: number;
                /** @description The `id` of the last export of the previous page. */
                starting_after?: string;
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of exports. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportList"];
                };
            };
        };
    };
    createExport: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this export. A request that is repeated with the same key and body gets the same answer, and no second export is ever made. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateExport"];
            };
        };
        responses: {
            /** @description The export was accepted. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Export"];
                };
            };
        };
    };
    getExport: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the export. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The export. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportWithLink"];
                };
            };
        };
    };
    listLedgerEntries: {
        parameters: {
            query?: {
                /** @description Only the entries of this payment. */
                payment?: string;
                /** @description Only the entries on this account. */
                account?: "processor_clearing" | "merchant_payable" | "refunds" | "fees" | "disputes" | "late_receipts" | "corrections";
                day?: string;
                from?: string;
                to?: string;
                /** @description Only entries in this currency. */
                currency?: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
                /** @description Maximum number of entries. Default: 100. */
                limit?: number;
                /** @description The `id` of the last entry of the previous page. */
                starting_after?: string;
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntryList"];
                };
            };
        };
    };
    getLedgerEntry: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the entry. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntry"];
                };
            };
        };
    };
    listBalances: {
        parameters: {
            query?: {
                /** @description The balances at this time: only entries before it. Unix seconds. Default: all entries. */
                at?: number;
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The balances. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceList"];
                };
            };
        };
    };
    createCorrection: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCorrection"];
            };
        };
        responses: {
            /** @description A dry run: the postings that would be made. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DryRun"];
                };
            };
            /** @description The correction. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Correction"];
                };
            };
            /** @description The amount is above the limit of the deployment, so nothing was posted: a second person must approve it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    resolvePayment: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResolvePayment"];
            };
        };
        responses: {
            /** @description The payment after the decision, the refund that was decided, or a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resolved"];
                };
            };
            /** @description The amount is above the limit of the deployment, so nothing was posted: a second person must approve it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    annotatePayment: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this annotation. A request that is repeated with the same key and body gets the same answer, and it is made once. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnnotatePayment"];
            };
        };
        responses: {
            /** @description The annotation. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Annotation"];
                };
            };
        };
    };
    listMismatches: {
        parameters: {
            query?: {
                /** @description Only of payments created at this time or later. Unix seconds. */
                created_from?: number;
                /** @description Only of payments created before this time. Unix seconds. */
                created_to?: number;
                /** @description Maximum number of mismatches. Default: 100. */
                limit?: number;
                /** @description The `id` of the last mismatch of the previous page. */
                starting_after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of differences. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MismatchList"];
                };
            };
        };
    };
    listActivity: {
        parameters: {
            query?: {
                /** @description The actions in this tenant. By default, those in the deployment. */
                tenant?: string;
                /** @description The mode of the tenant; `live` by default. */
                mode?: "test" | "live";
                /** @description Maximum number of entries. Default: 100. */
                limit?: number;
                /** @description The `id` of the last entry of the previous page. */
                starting_after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivityList"];
                };
            };
        };
    };
    getActivity: {
        parameters: {
            query?: {
                /** @description The actions in this tenant. By default, those in the deployment. */
                tenant?: string;
                /** @description The mode of the tenant; `live` by default. */
                mode?: "test" | "live";
            };
            header?: never;
            path: {
                /** @description The id of the entry. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"];
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description The keys of this tenant. By default, those of operators. */
                tenant?: string;
                /** @description Maximum number of keys. Default: 100. */
                limit?: number;
                /** @description The `id` of the last key of the previous page. */
                starting_after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this key. A request that is repeated with the same key and body gets the same answer, and no second key is made. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateKey"];
            };
        };
        responses: {
            /** @description The key, with its `secret`. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyWithSecret"];
                };
            };
        };
    };
    rollKey: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this replacement. A request that is repeated with the same key and body gets the same answer, and no second key is made. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path: {
                /** @description The id of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RollKey"];
            };
        };
        responses: {
            /** @description The new key, with its `secret`. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyWithSecret"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokeKey"];
            };
        };
        responses: {
            /** @description The revoked key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
        };
    };
    listLimits: {
        parameters: {
            query: {
                /** @description The limits of this tenant. */
                tenant: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All limits of the tenant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitList"];
                };
            };
        };
    };
    setLimit: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this change. A request that is repeated with the same key and body gets the same answer, and it does not undo a later change. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetLimit"];
            };
        };
        responses: {
            /** @description The limit that applies now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Limit"];
                };
            };
        };
    };
    getMismatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the difference. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The difference. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Mismatch"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operator. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorSelf"];
                };
            };
        };
    };
    getTimeline: {
        parameters: {
            query?: {
                /** @description Maximum number of transitions that a page covers. Default: 25. */
                limit?: number;
                /** @description The `next_sequence` of the previous page: this page covers the transitions after it. */
                starting_after?: number;
            };
            header?: never;
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What happened. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
        };
    };
    listApprovals: {
        parameters: {
            query?: {
                /** @description Maximum number of approvals. Default: 100. */
                limit?: number;
                /** @description The `id` of the last approval of the previous page. */
                starting_after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of approvals. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalList"];
                };
            };
        };
    };
    getApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the approval. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The approval. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    approveRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the approval. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Verdict"];
            };
        };
        responses: {
            /** @description The approval, whose request was executed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    rejectRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the approval. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Verdict"];
            };
        };
        responses: {
            /** @description The rejected approval. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    listTenants: {
        parameters: {
            query?: {
                /** @description Maximum number of tenants. Default: 100. */
                limit?: number;
                /** @description The `id` of the last tenant of the previous page. */
                starting_after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tenants. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantList"];
                };
            };
        };
    };
    listQueues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The queues. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueList"];
                };
            };
        };
    };
    listQueueEntries: {
        parameters: {
            query?: {
                /** @description Maximum number of entries. Default: 100. */
                limit?: number;
                /** @description The `id` of the last entry of the previous page. */
                starting_after?: string;
            };
            header?: never;
            path: {
                /** @description One of `claims`, `inquiries`, `returns`, `orders`, `holds`, `orphans`, `unmatched_callbacks`, or the name of a queue of messages with `is_kept`. The messages of others cannot be listed, because a function receives them. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueEntryList"];
                };
            };
        };
    };
    redriveQueue: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this redrive. A request that is repeated with the same key and body gets the same answer, and only messages that waited at the first request are put back. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path: {
                /** @description The name of a queue of messages with `redrive_to` in the list of queues. Others cannot be redriven; their `no_redrive_because` says why. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RedriveQueue"];
            };
        };
        responses: {
            /** @description The moved messages. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Redrive"];
                };
            };
        };
    };
    searchPayments: {
        parameters: {
            query: {
                /** @description Whose payments. */
                tenant: string;
                /** @description Default: `live`. */
                mode?: "test" | "live";
                /** @description Only payments with this status. */
                status?: "processing" | "requires_action" | "requires_capture" | "succeeded" | "failed" | "canceled" | "needs_review";
                /** @description Only payments with this `reference`, including failed ones. */
                reference?: string;
                /** @description At least this amount, in minor units. It needs `created_from` and `created_to`, at most 31 days after `created_from`. */
                amount_from?: number;
                /** @description At most this amount, in minor units, and at least `amount_from`. It needs `created_from` and `created_to`, at most 31 days after `created_from`. */
                amount_to?: number;
                /** @description Only payments in this currency. It needs `created_from` and `created_to`, at most 31 days after `created_from`. */
                currency?: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
                /** @description Only payments with this address as `receipt_email` in their `metadata`. Not for viewers; case-insensitive. */
                email?: string;
                /** @description Unix seconds, inclusive. */
                created_from?: number;
                /** @description Unix seconds, exclusive. */
                created_to?: number;
                /** @description Maximum number of payments. Default: 10. */
                limit?: number;
                /** @description The `id` of one of your payments: the page begins after it, with older ones. */
                starting_after?: string;
                /** @description The `id` of one of your payments: the page ends immediately before it, with newer ones. Not together with `starting_after`. */
                ending_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of payments. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentList"];
                };
            };
        };
    };
    findIdempotencyRecord: {
        parameters: {
            query: {
                /** @description The `Idempotency-Key`, as it was sent. */
                key: string;
                /** @description The path of the `POST` that it was sent to, with the ids in it. */
                path: string;
                /** @description The tenant that owns the key. Required for the paths of tenants, and not allowed for others. */
                tenant?: string;
                /** @description The mode of the API key of the request, for the paths of tenants. Default: `live`. */
                mode?: "test" | "live";
                /** @description The owner of the key: the name of the operator, or the subject at the identity provider. Required for the paths of operators, and not allowed for others. */
                operator?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyRecord"];
                };
            };
        };
    };
    getIdempotencyRecord: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a payment, capture, cancellation, refund, order, correction, decision, annotation or callback. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyRecord"];
                };
            };
        };
    };
    getAudit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The latest verifications. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audit"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The jobs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    listJobRuns: {
        parameters: {
            query?: {
                /** @description Only runs whose scheduled time is this or later. Unix seconds. */
                created_from?: number;
                /** @description Only runs whose scheduled time is earlier. Unix seconds. */
                created_to?: number;
                /** @description The maximum number of runs. Defaults to 10. */
                limit?: number;
                /** @description The `id` of the last run of the previous page. The page begins with the next older run. */
                starting_after?: string;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRunList"];
                };
            };
        };
    };
    startJobRun: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this request. A request that is repeated with the same key and body gets the same answer, and the run is for the same time. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. It is remembered for thirty days. */
                "Idempotency-Key": string;
            };
            path: {
                /** @description The id of the job. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StartJobRun"];
            };
        };
        responses: {
            /** @description The run as it was accepted. `Location` shows its progress. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRun"];
                };
            };
        };
    };
    getJobRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                id: string;
                /** @description The id of the run. */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRun"];
                };
            };
        };
    };
    listWebhookEndpoints: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoints. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointList"];
                };
            };
        };
    };
    getWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this rotation. A request that is repeated with the same key and body gets the same answer, and nothing happens twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateWebhookSecret"];
            };
        };
        responses: {
            /** @description The endpoint, with its new `secret`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
        };
    };
    replayWebhooks: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this replay. A request that is repeated with the same key and body gets the same answer, and nothing happens twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayWebhooks"];
            };
        };
        responses: {
            /** @description The replay was accepted and runs in the background. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReplay"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Maximum number of deliveries. Default: 100. */
                limit?: number;
                /** @description The `id` of the last delivery of the previous page. */
                starting_after?: string;
            };
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryList"];
                };
            };
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
                /** @description The id of the delivery. */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    getWebhookReplay: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
                /** @description The id of the replay. */
                replay: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The replay. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReplay"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this test event. A request that is repeated with the same key and body gets the same answer, and nothing happens twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. The attempt follows. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    resendWebhook: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this attempt. A request that is repeated with the same key and body gets the same answer, and nothing happens twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description Only for operators: the tenant and the mode that they call for. API keys are sent without it. */
                "Payonce-Tenant"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
                /** @description The id of the delivery. */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. The attempt follows. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
}
