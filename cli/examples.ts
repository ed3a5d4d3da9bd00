import { ANNOTATE, API_COMMANDS } from './api-table.ts';

/** Example arguments of each command. Its help shows them, and the tests of failures run them. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  'keys create': "--tenant ten_shop --name 'web shop' --mode test",
  'keys roll': 'sk_test_3f8a --overlap 24',
  'keys revoke': 'sk_test_3f8a',
  'keys list': '--tenant ten_shop',
  'tenants create': "'My shop'",
  'tenants list': '',
  'operators create': "'Ada Example' --role approver --expires-in 90",
  'operators list': '',
  'limits list': '--tenant ten_shop --mode test',
  'limits set': '--tenant ten_shop --kind payments --rate 300 --burst 600',
  'limits reset': '--tenant ten_shop --kind payments',
  listen: '--forward-to http://localhost:3000/webhooks',
  trigger: 'payment.completed --set amount=500 --set metadata.order=42',
  'dead-letters list': '--most 20',
  'dead-letters redrive': '--most 20',
  'events republish': '--created-from 1772366400',
  redrive: '',
  'views rebuild': '--segments 4',
  verify: '--from 1772366400 --to 1772452800',
  'tables restore': '--to 1772366400 --only ledger',
  'tables recover': '',
  'tables rebuild': 'PayonceData-Ledger-rebuilt',
  'tables restore-row':
    "pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp/2 --from-table payonce-ledger-r1772366400 --reason 'Overwritten'",
  'db migrate': '--secret payonce/database-owner --ca global-bundle.pem --role payonce',
  'db check': '--secret payonce/database --ca global-bundle.pem --role payonce',
  'erase payment': 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp',
  'erase order': 'ord_q6hz4m2nrb7vwy3k3jx5aqt5ocdeflgu',
  'activity list': '--tenant ten_shop --mode test',
  'activity verify': '',
  doctor: '--probe --key sk_test_3f8a',
  cost: '--payments 1000000 --context payonce:sandbox=true',
  simulate: '--minutes 5 --seed 42',
  conform: 'https://processor.example --signing-key whsec_c2VjcmV0',
  completion: 'bash',
  annotate: ANNOTATE.example,
  api: "GET '/v1/admin/mismatches?limit=5'",
  ...Object.fromEntries(
    Object.entries(API_COMMANDS).flatMap(([group, commands]) =>
      Object.entries(commands).map(
        ([words, { example }]) => [`${group} ${words.replace(/ .*/, '')}`, example] as const,
      ),
    ),
  ),
};
