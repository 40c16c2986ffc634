/** Wallets: the addresses on which a partner and its customers receive tokens. */
import {
  Amount,
  Currency,
  CustomerRef,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  optional,
  page,
  pageQuery,
} from './shapes.ts'

export const WalletCreate = closed({
  customerId: described(
    optional(CustomerRef),
    'The `guid` or the `serviceId` of the customer that receives the tokens. Without it, the partner itself does.',
  ),
  currency: described(Currency, 'Token that the wallet receives: `USDC` or `EURC`.', { examples: ['USDC'] }),
})

export const Wallet = closed({
  id: described(Uuid, 'Identifies the wallet.'),
  address: described(Type.String(), 'Address to which payers send the token, with its check sum (EIP-55).', {
    examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
  }),
  currency: described(Currency, 'Token that the wallet receives.', { examples: ['USDC'] }),
  chainId: described(Type.Integer(), 'Chain on which the wallet receives, by its id (EIP-155).', { examples: [8453] }),
  network: described(Type.String(), 'Name of the chain. Tokens that are sent on another chain are not credited.', {
    examples: ['base'],
  }),
  customerId: described(optional(Uuid), 'The `guid` of the customer. Absent if the wallet is the own of the partner.'),
  received: described(
    Amount,
    'Money credited through the wallet, in major units of `currency`, without what was taken back.',
  ),
  createdAt: described(Timestamp, 'Time of creation.'),
})
export const WalletPage = page(Wallet)
export const WalletQuery = closed({
  ...pageQuery,
  customerId: described(optional(CustomerRef), 'Only wallets of this customer: its `guid` or its `serviceId`.'),
  currency: described(optional(Currency), 'Only wallets with this token.'),
})
