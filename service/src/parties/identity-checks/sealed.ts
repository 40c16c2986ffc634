/** The sealed content of identity verifications, and what binds it to its row. */
import { ownJson } from '@partner-payments/wire'
import type { Sealer } from '../../kernel/index.ts'
import type { IdentityEvidence } from '../identity-port/index.ts'
import type { SealedColumn } from '../../postgres/index.ts'

/** Content that is sealed as a whole: the request, the page of the provider, and what it has found. */
export type Content = {
  readonly customerType: 'Individual' | 'Business' | 'SoleTrader'
  readonly subject: Readonly<Record<string, string>>
  readonly returnUrl: string | null
  readonly url: string | null
  readonly evidence: IdentityEvidence | null
}

const contentContext = (partnerId: string, id: string) => ['customers.identity_verifications', partnerId, id]

export const sealedIdentities: SealedColumn = {
  table: 'customers.identity_verifications',
  column: 'content_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => contentContext(partnerId, cell('id')),
}

type Key = { readonly partnerId: string; readonly id: string }

export const createContentSealer = (sealer: Sealer) => ({
  seal: ({ partnerId, id }: Key, content: Content): Uint8Array =>
    sealer.seal(JSON.stringify(content), contentContext(partnerId, id)),
  open: ({ partnerId, id, contentSealed }: Key & { readonly contentSealed: Uint8Array }): Content =>
    ownJson<Content>(sealer.open(contentSealed, contentContext(partnerId, id))),
})
export type ContentSealer = ReturnType<typeof createContentSealer>
