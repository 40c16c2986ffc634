/** The routes by which staff sign commands in, and decide changes that wait for a second person. */
import { ownJson } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { SignedStaff, StaffChange } from '../../people/staff/index.ts'
import { fill } from '../language.ts'
import { page, readForm, seeOther, uuid } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { changesPage, type DeskChange, devicePage } from './command-pages.ts'
import { commandTexts } from './command-texts.ts'
import { type DeskFrame, noteOf, staffRoute } from './request.ts'
import { resultPage } from './staff-pages.ts'

const changesShown = 100

export const commandRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  ...deviceRoutes(frame),
  ...changeRoutes(frame),
]

function deviceRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, staff } = frame
  const show = async (
    request: PublicRequest,
    { view, signed }: { readonly view: ConsoleView; readonly signed: SignedStaff },
    { code, error = false, said }: { readonly code: string; readonly error?: boolean; readonly said?: string },
  ) => {
    const tokens = await staff.commands.list(db, signed.account.id)
    const own = await staff.sessions(signed.account.id)
    const sessions = own.map((session) => ({ ...session, isThis: session.id === signed.session.id }))
    const { isOn, connectedSince } = staff.singleSignOn
    const sso = isOn ? { since: await connectedSince(signed.account.id) } : undefined
    const found = code === '' || error ? undefined : await ifFound(staff.commands.requested(code))
    const isWrong = error || (code !== '' && found === undefined)
    return page(
      request,
      isWrong ? 400 : 200,
      devicePage(view, { code, request: found, error: isWrong, said, tokens, sessions, sso }),
    )
  }
  return [
    staffRoute(frame, 'device', 'GET', '/device', (request, person) =>
      show(request, person, { code: new URLSearchParams(request.query).get('code') ?? '' }),
    ),
    staffRoute(frame, 'device', 'POST', '/device', async (request, person) => {
      const code = readForm(request)('code')
      // A session that has rested may be in other hands.
      if (person.signed.session.rested) return seeOther('sign-in')
      const confirmed = await ifFound(staff.commands.confirm(person.signed, code))
      if (confirmed === undefined) return show(request, person, { code, error: true })
      const said = fill(commandTexts[person.view.language].confirmed, { origin: confirmed.origin })
      return show(request, person, { code: '', said })
    }),
    staffRoute(frame, 'device', 'POST', '/device/{id}/end', async (request, { signed }) => {
      const { id = '' } = request.params
      const own = (await staff.commands.list(db, signed.account.id)).find((token) => token.id === id)
      if (own !== undefined) await ifFound(db.transaction((tx) => staff.commands.end(tx, own.id)))
      return seeOther('../../device')
    }),
    staffRoute(frame, 'device', 'POST', '/sessions/{id}/end', async (request, { signed }) => {
      const { id = '' } = request.params
      if (!uuid.test(id)) throw notFound('page')
      await staff.endSession(signed.account.id, id)
      return seeOther('../../device')
    }),
  ]
}

/** Undefined: the verb refuses with not_found. */
async function ifFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return undefined
    throw error
  }
}

function changeRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { changes } = frame
  const show = async (request: PublicRequest, view: ConsoleView, signed: SignedStaff, error?: string) => {
    const shown = await changesOf(frame, signed)
    return page(request, error === undefined ? 200 : 400, changesPage(view, { changes: shown, error }))
  }
  const form = (
    name: 'approve' | 'reject' | 'run',
    act: (signed: SignedStaff, id: string, request: PublicRequest) => Promise<unknown>,
    answer: (request: PublicRequest, view: ConsoleView, result: unknown) => PublicAnswer = () =>
      seeOther('../../changes'),
  ): PublicRoute =>
    staffRoute(frame, 'changes', 'POST', `/changes/{id}/${name}`, async (request, { signed, view }) => {
      const { id = '' } = request.params
      if (!uuid.test(id)) throw notFound('page')
      if (signed.session.rested) return seeOther('../../sign-in')
      try {
        return answer(request, view, await act(signed, id, request))
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
        return show(request, view, signed, error.detail)
      }
    })
  return [
    staffRoute(frame, 'changes', 'GET', '/changes', (request, { view, signed }) => show(request, view, signed)),
    form(
      'run',
      ({ account }, id) => changes.carryOut(account, id),
      (request, view, result) => page(request, 200, resultPage(view, { result, back: 'changes' })),
    ),
    form('approve', ({ account }, id) => changes.approve(account, id)),
    form('reject', ({ account }, id, request) => changes.reject(account, id, noteOf(readForm(request)))),
  ]
}

/** The changes that wait, with what the person may do about each. */
export async function changesOf(
  { db, staff, changes }: DeskFrame,
  { account }: SignedStaff,
): Promise<readonly DeskChange[]> {
  const rows = await staff.changes.waiting(db, changesShown)
  return rows.map((row) => toChange(row, account.id, changes.mayDecide(row.command, account.role)))
}

function toChange(row: StaffChange, staffId: string, mayDecide: boolean): DeskChange {
  const { partner, note, ...typed } = ownJson<Readonly<Record<string, string | boolean>>>(row.options)
  const words = Object.entries(typed).map(([name, value]) => (value === true ? name : `${name} ${value}`))
  return {
    ...{ id: row.id, command: row.command, options: words, by: row.proposedByName, at: row.proposedAt },
    partnerId: partner === undefined ? undefined : String(partner),
    note: note === undefined ? undefined : String(note),
    approvedBy: row.approved === true ? row.decidedByName : null,
    isOwn: row.proposedBy === staffId,
    mayDecide,
  }
}
