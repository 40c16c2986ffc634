/**
 * Stores forms that were sent after the session had ended. They are sealed, and restored in the same browser after the
 * person has signed in again.
 */
import { linkPartnerId } from '../../kernel/api/index.ts'
import { after, type Clock, newId, type Sealer, tokenHash } from '../../kernel/index.ts'
import type { Database, SealedColumn } from '../../postgres/index.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

/** The browser that sends a form: the token of its session and the value of its device cookie. */
export type FormSender = { readonly token: string; readonly device: string }

export type KeptForms = {
  /** Stores the text of a form, and returns its id. Undefined: the session is unknown, or its person ended it. */
  readonly keep: (by: FormSender, form: string) => Promise<string | undefined>
  /** Reads the text of a form. Undefined: it has expired, belongs to another person or browser, or the session may not show money. */
  readonly open: (by: FormSender, id: string) => Promise<string | undefined>
  /** Deletes a form after its person has sent it. */
  readonly forget: (by: FormSender, id: string) => Promise<void>
  /** Deletes expired forms, and returns their number. */
  readonly sweep: () => Promise<number>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** Finds the session of a token, and whether it may show money. Undefined: there is none. */
  readonly session: (
    token: string,
  ) => Promise<{ readonly partnerId: string; readonly memberId: string; readonly rested: boolean } | undefined>
}

const contextOf = (partnerId: string, id: string) => ['sign_in.kept_forms', 'form_sealed', partnerId, id]

export const sealedForms: SealedColumn = {
  table: 'sign_in.kept_forms',
  column: 'form_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => contextOf(partnerId, cell('id')),
}

const partnersPerSweep = 100

export function createKeptForms({ db, clock, sealer, session }: Deps): KeptForms {
  return {
    keep: async ({ token, device }, form) => {
      const partnerId = linkPartnerId(token)
      const memberId = partnerId && (await store.findMemberByToken(db, partnerId, tokenHash(token)))
      if (partnerId === undefined || memberId === undefined) return undefined
      const id = newId()
      const deviceHash = rules.deviceHash(memberId, device)
      const formSealed = sealer.seal(form, contextOf(partnerId, id))
      const expiresAt = after(clock.now(), rules.keptFormMs)
      await store.insertForm(db, partnerId, { id, memberId, deviceHash, formSealed, expiresAt })
      await store.deleteOldForms(db, partnerId, memberId, rules.keptFormsMax)
      return id
    },
    open: async ({ token, device }, id) => {
      const signed = await session(token)
      if (signed === undefined || signed.rested) return undefined
      const { partnerId, memberId } = signed
      const by = { id, memberId, deviceHash: rules.deviceHash(memberId, device), now: clock.now() }
      const row = await store.findForm(db, partnerId, by)
      return row && sealer.open(row.formSealed, contextOf(partnerId, id))
    },
    forget: async ({ token, device }, id) => {
      const signed = await session(token)
      if (signed === undefined) return
      const { partnerId, memberId } = signed
      await store.deleteForm(db, partnerId, { id, memberId, deviceHash: rules.deviceHash(memberId, device) })
    },
    sweep: async () => {
      const now = clock.now()
      let deleted = 0
      for (const partnerId of await store.partnersWithExpiredForms(db, now, partnersPerSweep))
        deleted += await store.deleteExpiredForms(db, partnerId, now)
      return deleted
    },
  }
}
