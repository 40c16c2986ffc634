/** Forms that met an ended session. They are sealed, and open for their person in the same browser after a new sign-in. */
import { readLink } from '../../kernel/api/index.ts'
import { after, type Clock, newId, type Sealer } from '../../kernel/index.ts'
import type { Database, SealedColumn } from '../../postgres/index.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

/** A browser that sends a form: the token of its session, and the value of the cookie of its device. */
export type FormSender = { readonly token: string; readonly device: string }

export type KeptForms = {
  /** Keeps the text of a form, and returns its id. Undefined: the session of the token is unknown, or was ended on purpose. */
  readonly keep: (by: FormSender, form: string) => Promise<string | undefined>
  /** The text of a form. Undefined: it is over, or belongs to another person or browser, or the session cannot show money. */
  readonly open: (by: FormSender, id: string) => Promise<string | undefined>
  /** Deletes a form that its person has sent. */
  readonly forget: (by: FormSender, id: string) => Promise<void>
  /** Deletes the forms that are over, and returns their number. */
  readonly sweep: () => Promise<number>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** The session of a token, and whether it may show money. Undefined: there is none. */
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
      const partnerId = readLink(token)
      const memberId = partnerId && (await store.memberOfToken(db, partnerId, rules.tokenHash(token)))
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
      const row = await store.formOf(db, partnerId, by)
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
      for (const partnerId of await store.partnersWithFormsOver(db, now, partnersPerSweep))
        deleted += await store.deleteFormsOver(db, partnerId, now)
      return deleted
    },
  }
}
