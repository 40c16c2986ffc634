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
  singleLine,
  walletSignaturePattern,
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

const provedAddress = described(Type.String(), 'Address of the wallet, with its check sum (EIP-55).', {
  examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
})
export const OwnershipProofCreate = closed({
  customerId: described(
    optional(CustomerRef),
    'The `guid` or the `serviceId` of the customer whose payments go to the wallet, or come from it. Without it, they are those of the partner itself.',
  ),
  address: provedAddress,
  vasp: described(
    optional(singleLine(100)),
    'Provider that keeps the wallet. With it, nothing is signed: the provider knows who owns the wallet.',
    { examples: ['Example Custody Ltd'] },
  ),
})
export const ownershipStatuses = ['Requested', 'Proved', 'Declared', 'Expired'] as const
export const OwnershipProof = closed({
  id: described(Uuid, 'Identifies the proof.'),
  status: described(
    Type.Enum([...ownershipStatuses]),
    '`Requested`: the wallet has to sign `message`. `Proved`: it has. `Declared`: a provider keeps the wallet. `Expired`: `message` was not signed in time; request another proof.',
  ),
  address: provedAddress,
  customerId: described(
    optional(Uuid),
    'The `guid` of the customer. Absent if the payments are those of the partner itself.',
  ),
  message: described(
    optional(Type.String()),
    'Text to sign with the wallet, exactly as it is, as a personal message (EIP-191, `personal_sign`). Absent if a provider keeps the wallet.',
  ),
  vasp: described(optional(Type.String()), 'Provider that keeps the wallet.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  expiresAt: described(optional(Timestamp), 'Time until which the signature is accepted.'),
  provedAt: described(optional(Timestamp), 'Time at which the wallet proved its owner, or its provider was declared.'),
})
export const OwnershipProofPage = page(OwnershipProof)
export const OwnershipProofQuery = closed({
  ...pageQuery,
  customerId: described(optional(CustomerRef), 'Only proofs of this customer: its `guid` or its `serviceId`.'),
  address: described(optional(Type.String()), 'Only proofs of this address.'),
})
export const OwnershipSignature = closed({
  signature: described(
    Type.String({ pattern: walletSignaturePattern }),
    'The signature of the wallet over `message`: 65 bytes (r, s, v) as `0x` and hexadecimal digits.',
  ),
})
