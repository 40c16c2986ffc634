/** Saved views: named filters of the console's lists, private or shared with the team. */
import type { FieldError } from '@partner-payments/wire'
import { notFound, refuseField } from '../../kernel/api/index.ts'
import type { Audit, ServiceAct } from '../../audit/index.ts'
import { type Clock, newId } from '../../kernel/index.ts'
import { type Database, sqlState, type Tx, violates } from '../../postgres/index.ts'
import type { SignedInUser } from './member-deps.ts'
import * as store from './store.ts'

type SavedView = Pick<store.SavedViewRow, 'id' | 'page' | 'name' | 'query' | 'isShared'> & {
  /** True if the person may rename and delete it. */
  readonly isOwn: boolean
}

export type SavedViews = {
  /** Lists the person's own views of a page and the team's shared ones, by name. */
  readonly list: (signed: SignedInUser, page: string) => Promise<readonly SavedView[]>
  /** Saves a view. Refuses: validation_failed (/name: empty, too long, taken, or the person has too many; /query). */
  readonly save: (
    signed: SignedInUser,
    view: Pick<store.SavedViewRow, 'page' | 'name' | 'query' | 'isShared'>,
    ip: string,
  ) => Promise<void>
  /** Renames a view. Refuses: validation_failed (/name), not_found (also if the person may not change it). */
  readonly rename: (signed: SignedInUser, id: string, name: string, ip: string) => Promise<SavedView>
  /** Deletes a view. Refuses: not_found (also if the person may not change it). */
  readonly remove: (signed: SignedInUser, id: string, ip: string) => Promise<SavedView>
}

const viewsPerPersonMax = 50
/** Maximum number of the person's own views in a list, and of shared views. */
const shownMax = 50
const nameCharsMax = 60
const queryCharsMax = 1000

type Deps = { readonly db: Database; readonly clock: Clock; readonly audit: Pick<Audit, 'append'> }

/**
 * Reports whether a person may change a view: its maker may, and anyone who manages the team may change a shared view.
 */
const mayChange = ({ caller }: SignedInUser, { memberId, isShared }: store.SavedViewRow): boolean =>
  memberId === caller.serviceAccountId || (isShared && caller.permissions.includes('users:write'))

const refuseName = (code: FieldError['code'], message: string) => refuseField({ pointer: '/name', code, message })

function readName(text: string): string {
  const name = text.trim()
  if (name === '') throw refuseName('empty', 'must not be blank')
  if (name.length > nameCharsMax) throw refuseName('too_long', `must have at most ${nameCharsMax} characters`)
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) throw refuseName('invalid_character', 'must be one line of text')
  return name
}

function refuseTaken(error: unknown): never {
  if (violates(error, sqlState.uniqueViolation, 'saved_views_names'))
    throw refuseName('exists', 'is the name of another view of this list')
  throw error
}

export function createSavedViews({ db, clock, audit }: Deps): SavedViews {
  const toView = (signed: SignedInUser, row: store.SavedViewRow): SavedView => ({
    ...row,
    isOwn: mayChange(signed, row),
  })
  const record = (tx: Tx, { caller }: SignedInUser, row: store.SavedViewRow, action: ServiceAct, ip: string) => {
    const { partnerId, serviceAccountId: id, name } = caller
    const actor = { kind: 'partner', id, name, ip } as const
    const details = { page: row.page, name: row.name, shared: String(row.isShared) }
    audit.append(tx, [{ partnerId, actor, action, subject: { savedViewId: row.id }, details }])
  }
  const lock = async (tx: Tx, signed: SignedInUser, id: string): Promise<store.SavedViewRow> => {
    const row = await store.lockView(tx, signed.caller.partnerId, id)
    if (row === undefined || !mayChange(signed, row)) throw notFound('saved view')
    return row
  }
  return {
    list: async (signed, page) => {
      const { partnerId, serviceAccountId: memberId } = signed.caller
      const rows = await store.listViews(db, partnerId, { memberId, page }, shownMax)
      return rows.map((row) => toView(signed, row))
    },
    save: async (signed, given, ip) => {
      const name = readName(given.name)
      const { length } = given.query
      if (length === 0 || length > queryCharsMax)
        throw refuseField({
          pointer: '/query',
          code: 'invalid_value',
          message: `must have 1 to ${queryCharsMax} characters`,
        })
      const { partnerId, serviceAccountId: memberId } = signed.caller
      await db.transaction(async (tx) => {
        if ((await store.countViews(tx, partnerId, memberId)) >= viewsPerPersonMax)
          throw refuseName('out_of_range', `You have ${viewsPerPersonMax} views. Delete one first.`)
        const row = { ...given, name, id: newId(), memberId }
        await store.insertView(tx, partnerId, row, clock.now()).catch(refuseTaken)
        record(tx, signed, row, 'savedView.saved', ip)
      })
    },
    rename: async (signed, id, text, ip) => {
      const name = readName(text)
      return db.transaction(async (tx) => {
        const row = { ...(await lock(tx, signed, id)), name }
        await store.renameView(tx, signed.caller.partnerId, id, name, clock.now()).catch(refuseTaken)
        record(tx, signed, row, 'savedView.renamed', ip)
        return toView(signed, row)
      })
    },
    remove: (signed, id, ip) =>
      db.transaction(async (tx) => {
        const row = await lock(tx, signed, id)
        await store.deleteView(tx, signed.caller.partnerId, id)
        record(tx, signed, row, 'savedView.deleted', ip)
        return toView(signed, row)
      }),
  }
}
