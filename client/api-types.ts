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
        post: operations["createPayment"];
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
    "/v1/payment_requests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getPaymentRequest"];
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
    "/v1/payments/{id}/transitions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTransitions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/capture": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["capturePayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelPayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/captures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCaptures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/captures/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCapture"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/cancellations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCancellations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cancellations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCancellation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/refunds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listRefunds"];
        put?: never;
        post: operations["createRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getRefund"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{id}/disputes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listDisputesOfPayment"];
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
    "/v1/disputes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDispute"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listOrders"];
        put?: never;
        post: operations["createOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getOrder"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getEvent"];
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
        post: operations["createWebhookEndpoint"];
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
        delete: operations["deleteWebhookEndpoint"];
        options?: never;
        head?: never;
        patch: operations["updateWebhookEndpoint"];
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
        CreatePayment: {
            /**
             * Format: int64
             * @description In minor units; at most 10 digits for currencies without decimals, 12 for the others.
             * @example 1000
             */
            amount: number;
            /**
             * @description ISO 4217, upper case.
             * @example EUR
             * @enum {string}
             */
            currency: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
            /**
             * @description The processor’s token for a card or an account. Never a card number.
             * @example tok_ok
             */
            source: string;
            /**
             * @description `automatic` (the default) captures at once; `manual` only authorizes.
             * @enum {string}
             */
            capture?: "automatic" | "manual";
            /**
             * @description Your name for the purchase, unique among payments that are not failed or canceled.
             * @example order-6735
             */
            reference?: string;
            /**
             * @description Free text, stored unchanged.
             * @example Two shirts
             */
            description?: string;
            /**
             * @description Your own data: at most 50 keys of 1 to 40 characters with strings of at most 500, together at most 2048 bytes. Strings may have line breaks and tabs, except those of `receipt_email`, `affiliate`, `order` and `order_id`. After the capture, `receipt_email` gets a receipt and `affiliate` a commission.
             * @example {
             *       "order": "6735"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: uri
             * @description The page to which the payer returns after an action (`next_action`): https, or in test mode http on the loopback. Default: the page of the deployment.
             * @example https://shop.example/done
             */
            return_url?: string;
        };
        CapturePayment: {
            /**
             * Format: int64
             * @description In minor units. Defaults to the authorized amount.
             * @example 300
             */
            amount?: number;
        };
        CancelPayment: Record<string, never>;
        RefundPayment: {
            /**
             * Format: int64
             * @description In minor units. Defaults to the remaining amount.
             * @example 300
             */
            amount?: number;
            /**
             * @description Free text, stored unchanged.
             * @example Returned
             */
            reason?: string;
        };
        CreateOrder: {
            /**
             * Format: int64
             * @description In minor units; at most 10 digits for currencies without decimals, 12 for the others.
             * @example 1000
             */
            amount: number;
            /**
             * @description ISO 4217, upper case.
             * @example EUR
             * @enum {string}
             */
            currency: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
            /**
             * @description The processor’s token for a card or an account. Never a card number.
             * @example tok_ok
             */
            source: string;
            /**
             * @description The items to reserve in the stock, all or none.
             * @example [
             *       {
             *         "sku": "sku_tea",
             *         "quantity": 2
             *       }
             *     ]
             */
            items: {
                /**
                 * @description The stock’s id of the ordered item.
                 * @example sku_tea
                 */
                sku: string;
                /**
                 * Format: int32
                 * @description The number of items.
                 * @example 2
                 */
                quantity: number;
            }[];
            /**
             * Format: email
             * @description The recipient of the confirmation e-mail.
             * @example ada@example.com
             */
            email: string;
            /**
             * @description The referrer of the customer, who is credited with 5 % of the amount, rounded down.
             * @example ref_friend
             */
            referrer?: string;
            /**
             * @description The affiliate who receives a commission: 10 % of the amount that you keep, rounded down, once the order is completed and its lock period is over.
             * @example aff_7
             */
            affiliate?: string;
            /**
             * Format: int32
             * @description The number of the order in the shop. With BigCommerce, a note on that order names this one.
             * @example 118
             */
            shop_order?: number;
            /**
             * Format: uri
             * @description The page to which the payer returns after an action (`next_action`): https, or in test mode http on the loopback. Default: the page of the deployment.
             * @example https://shop.example/done
             */
            return_url?: string;
        };
        CreateWebhookEndpoint: {
            /**
             * Format: uri
             * @description Where events are posted: a public https address, on port 443 or from 1024.
             * @example https://shop.example.com/hooks
             */
            url: string;
            /**
             * @description The event types to send: `["*"]` for all, including types added later.
             * @example [
             *       "*"
             *     ]
             */
            events: "*"[] | ("payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required" | "webhook_endpoint.disabled")[];
            /**
             * @description Free text, stored unchanged.
             * @example Order system
             */
            description?: string;
        };
        UpdateWebhookEndpoint: {
            /**
             * Format: uri
             * @description Where events are posted: a public https address, on port 443 or from 1024.
             * @example https://shop.example.com/hooks
             */
            url?: string;
            /**
             * @description The event types to send: `["*"]` for all, including types added later.
             * @example [
             *       "*"
             *     ]
             */
            events?: "*"[] | ("payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required" | "webhook_endpoint.disabled")[];
            description?: string | null;
            /** @description False stops all deliveries. True resumes with later events. */
            enabled?: boolean;
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
            /** @constant */
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
            /** @constant */
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
        PaymentRequest: {
            /** Format: uuid */
            id: string;
            /** @constant */
            object: "payment_request";
            livemode: boolean;
            /**
             * @description `completed`: it has an outcome, including a decline. `failed`: nothing was sent to the processor, and the next delivery retries.
             * @enum {string}
             */
            status: "pending" | "completed" | "failed";
            /** @description Time of the last change of the status, in Unix seconds. Null when its record has expired, after 7 days. */
            changed: number | null;
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
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
        TransitionList: {
            /** @constant */
            object: "list";
            /** @description Oldest first. */
            data: components["schemas"]["Transition"][];
            /** @description Whether there are more after the last sequence of this page. */
            has_more: boolean;
        } & {
            [key: string]: unknown;
        };
        Transition: {
            /**
             * Format: int64
             * @description From 1, without gaps.
             */
            sequence: number;
            /** @example payment.completed */
            type: string;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
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
            /** @description Debits equal credits in every currency. */
            postings: components["schemas"]["Posting"][];
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
        CapturesOfPayment: {
            /** @constant */
            object: "list";
            /** @description In the order of their recording. */
            data: components["schemas"]["Capture"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        Capture: {
            /** @example cap_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe */
            id: string;
            /** @constant */
            object: "capture";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /**
             * Format: int64
             * @description The requested amount, in minor units.
             */
            amount: number;
            currency: string;
            /**
             * @description `pending` means that the outcome is not known yet.
             * @enum {string}
             */
            status: "pending" | "succeeded" | "failed";
            /** @description `expired` when Payonce voided an old authorization. */
            reason: string | null;
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
        CancellationsOfPayment: {
            /** @constant */
            object: "list";
            /** @description In the order of their recording. */
            data: components["schemas"]["Cancellation"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        Cancellation: {
            /** @example can_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe */
            id: string;
            /** @constant */
            object: "cancellation";
            /** @example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp */
            payment: string;
            /**
             * Format: int64
             * @description The authorized amount, in minor units.
             */
            amount: number;
            currency: string;
            /**
             * @description `pending` means that the outcome is not known yet.
             * @enum {string}
             */
            status: "pending" | "succeeded" | "failed";
            /** @description `expired` when Payonce voided an old authorization. */
            reason: string | null;
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
        RefundList: {
            /** @constant */
            object: "list";
            /** @description In the order of their recording. */
            data: components["schemas"]["Refund"][];
            /** @constant */
            has_more: false;
        } & {
            [key: string]: unknown;
        };
        DisputesOfPayment: {
            /** @constant */
            object: "list";
            /** @description In the order of their recording. */
            data: components["schemas"]["Dispute"][];
            /** @constant */
            has_more: false;
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
        OrderList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Order"][];
            /** @description Whether there are more in the requested direction: older ones, or newer ones with `ending_before`. */
            has_more: boolean;
            /** @description Given while `has_more` is true: request the next page with it as `starting_after`, or as `ending_before`. It is the last id that was examined. A page is full unless no more than 1000 entries were examined and too few of them match the filters; it can then be short or empty although there are more. */
            next_cursor?: string;
        } & {
            [key: string]: unknown;
        };
        EventList: {
            /** @constant */
            object: "list";
            /** @description Newest first. */
            data: components["schemas"]["Event"][];
            /** @description Whether there are more in the requested direction: older ones, or newer ones with `ending_before`. */
            has_more: boolean;
            /** @description Given while `has_more` is true: request the next page with it as `starting_after`, or as `ending_before`. It is the last id that was examined. A page is full unless no more than 1000 entries were examined and too few of them match the filters; it can then be short or empty although there are more. */
            next_cursor?: string;
        } & {
            [key: string]: unknown;
        };
        Event: {
            /**
             * @description The same for every delivery of the event.
             * @example evt_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp000002mfzwizlttq
             */
            id: string;
            /** @constant */
            object: "event";
            /** @enum {string} */
            type: "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required";
            /**
             * Format: int32
             * @description The version of the event’s format.
             * @constant
             */
            version: 1;
            /**
             * Format: int64
             * @description Unix time in seconds.
             * @example 1772366400
             */
            created: number;
            /**
             * Format: int64
             * @description The event’s place among the events of its payment or order. Order events by it, never by arrival.
             */
            sequence: number;
            livemode: boolean;
            /** @description The `event_id` of the event that requested the payment. Omitted for a payment that was requested over HTTP. */
            causation_id?: string;
            data: {
                /** @description The payment, order, refund or dispute at that time. */
                object: {
                    id: string;
                    object: string;
                } & {
                    [key: string]: unknown;
                };
            } & {
                [key: string]: unknown;
            };
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
        DeletedWebhookEndpoint: {
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /** @constant */
            deleted: true;
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
    parameters: {
        /** @description `wait=N`: if the first request with this key is still running, wait up to N seconds for its answer, at most 8. */
        Prefer: string;
    };
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
    createPayment: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this payment. A request that is repeated with the same key and body gets the same answer, and the payer is charged once. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description `wait=N`: if the first request with this key is still running, wait up to N seconds for its answer, at most 8. */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePayment"];
            };
        };
        responses: {
            /** @description The amount was captured, or authorized when `capture` is manual. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
            /** @description The outcome is not known yet: the processor did not answer in time, decides later, or requires an action of the payer (`next_action`). GET shows the outcome later. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
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
    getPaymentRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The `event_id` that the sender of the event chose. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentRequest"];
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
    listTransitions: {
        parameters: {
            query?: {
                /** @description Maximum number of transitions. Default: 100. */
                limit?: number;
                /** @description The sequence of the last transition of the previous page. The page begins after it. */
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
            /** @description A page of transitions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransitionList"];
                };
            };
        };
    };
    capturePayment: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this capture. A request that is repeated with the same key and body gets the same answer, and no amount is captured twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. It can be used again for another payment, and for another kind of change of this one. */
                "Idempotency-Key": string;
                /** @description `wait=N`: if the first request with this key is still running, wait up to N seconds for its answer, at most 8. */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CapturePayment"];
            };
        };
        responses: {
            /** @description The amount was captured. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
            /** @description The outcome is not known yet, because the processor did not answer in time. GET returns it later. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
        };
    };
    cancelPayment: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this cancellation. A request that is repeated with the same key and body gets the same answer, and the payment is canceled once. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. It can be used again for another payment, and for another kind of change of this one. */
                "Idempotency-Key": string;
                /** @description `wait=N`: if the first request with this key is still running, wait up to N seconds for its answer, at most 8. */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelPayment"];
            };
        };
        responses: {
            /** @description The payment was canceled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
            /** @description The outcome is not known yet, because the processor did not answer in time. GET returns it later. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
        };
    };
    listCaptures: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The captures. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapturesOfPayment"];
                };
            };
        };
    };
    getCapture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the capture. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The capture. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Capture"];
                };
            };
        };
    };
    listCancellations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cancellations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancellationsOfPayment"];
                };
            };
        };
    };
    getCancellation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cancellation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cancellation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cancellation"];
                };
            };
        };
    };
    listRefunds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The refunds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefundList"];
                };
            };
        };
    };
    createRefund: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this refund. A request that is repeated with the same key and body gets the same answer, and no amount is refunded twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. It can be used again for another payment, and for another kind of change of this one. */
                "Idempotency-Key": string;
                /** @description `wait=N`: if the first request with this key is still running, wait up to N seconds for its answer, at most 8. */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefundPayment"];
            };
        };
        responses: {
            /** @description The amount was refunded. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
            /** @description The refund is pending: the processor did not answer in time, or decides later. GET shows the outcome later. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
        };
    };
    getRefund: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the refund. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The refund. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
        };
    };
    listDisputesOfPayment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The disputes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputesOfPayment"];
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
    getDispute: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the dispute. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dispute. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Dispute"];
                };
            };
        };
    };
    listOrders: {
        parameters: {
            query?: {
                /** @description Only orders with this status. */
                status?: "processing" | "completed" | "canceled" | "needs_review";
                /** @description Only orders with this address; case-insensitive. */
                email?: string;
                /** @description Unix seconds, inclusive. */
                created_from?: number;
                /** @description Unix seconds, exclusive. */
                created_to?: number;
                /** @description Maximum number of orders. Default: 10. */
                limit?: number;
                /** @description The `id` of one of your orders: the page begins after it, with older ones. */
                starting_after?: string;
                /** @description The `id` of one of your orders: the page ends immediately before it, with newer ones. Not together with `starting_after`. */
                ending_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of orders. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderList"];
                };
            };
        };
    };
    createOrder: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this order. A request that is repeated with the same key and body gets the same answer, and no step happens twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
                /** @description `wait=N`: if the first request with this key is still running, wait up to N seconds for its answer, at most 8. */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateOrder"];
            };
        };
        responses: {
            /** @description Charged and reserved. The confirmation and the credit can follow later. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            /** @description The outcome is not known yet: the charge or the reservation is unknown, the payer must act, or a refund is in progress. GET shows the outcome later. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    getOrder: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the order. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description Only events of this type. */
                type?: "payment.processing" | "payment.requires_action" | "payment.authorized" | "payment.completed" | "payment.failed" | "payment.canceled" | "payment.review_required" | "refund.completed" | "refund.failed" | "dispute.opened" | "dispute.closed" | "order.placed" | "order.reopened" | "order.completed" | "order.canceled" | "order.review_required";
                /** @description Unix seconds, inclusive. */
                created_from?: number;
                /** @description Unix seconds, exclusive. */
                created_to?: number;
                /** @description Maximum number of events. Default: 10. */
                limit?: number;
                /** @description The `id` of one of your events: the page begins after it, with older ones. */
                starting_after?: string;
                /** @description The `id` of one of your events: the page ends immediately before it, with newer ones. Not together with `starting_after`. */
                ending_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
        };
    };
    getEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the event. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"];
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
    createWebhookEndpoint: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this endpoint. A request that is repeated with the same key and body gets the same answer, and no second endpoint is ever made. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhookEndpoint"];
            };
        };
        responses: {
            /** @description The endpoint, with its `secret`. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
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
    deleteWebhookEndpoint: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies this deletion. A request that is repeated with the same key and body gets the same answer, and nothing happens twice. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID. */
                "Idempotency-Key": string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint was deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedWebhookEndpoint"];
                };
            };
        };
    };
    updateWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhookEndpoint"];
            };
        };
        responses: {
            /** @description The endpoint after the update. */
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
