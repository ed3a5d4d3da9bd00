import { CURRENCIES } from '../../kernel/currency.ts';
import { currencyIn } from './payment-objects.ts';

/** Schema of a currency in a filter. */
export const currency = currencyIn(CURRENCIES, 'must be the code of a currency, for example EUR');
