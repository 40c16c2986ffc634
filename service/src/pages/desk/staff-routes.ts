/** The routes of the staff page: each form runs the command of the operator that does the same. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { SignedStaff } from '../../people/staff/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type DeskFrame, noteOf, staffRoute } from './request.ts'
import { type DeskPerson, resultPage, staffPage } from './staff-pages.ts'

type Person = { readonly view: ConsoleView; readonly signed: SignedStaff }
type Typed = Readonly<Record<string, string>>

export function staffRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, staff, changes } = frame
  const show = async (request: PublicRequest, { view, signed }: Person, error?: string, form?: Form) => {
    const rows = await staff.list(db)
    const factors = await staff.factorsOf(
      db,
      rows.map(({ id }) => id),
    )
    const people = rows.map((row): DeskPerson => {
      const own = factors.filter(({ memberId }) => memberId === row.id).map(({ factor }) => factor)
      return { ...row, factors: own, isSelf: row.id === signed.account.id }
    })
    const waits = new URLSearchParams(request.query).has('waits')
    const shown = { people, isAdmin: signed.account.role === 'admin', waits, error, typed: form ?? (() => '') }
    return page(request, error === undefined ? 200 : 400, staffPage(view, shown))
  }
  /** Runs a command for the person. A result that is a secret is the answer, and is shown once. */
  const form = (
    path: string,
    command: string,
    read: (form: Form, id: string) => Typed,
    isSecret = false,
  ): PublicRoute =>
    staffRoute(frame, 'staff', 'POST', `/staff/${path}`, async (request, person): Promise<PublicAnswer> => {
      const { view, signed } = person
      const { id } = request.params
      if (id !== undefined && !uuid.test(id)) throw notFound('page')
      if (signed.session.rested) return seeOther(`${view.root}sign-in`)
      const given = readForm(request)
      try {
        const { waits, result } = await changes.run(signed.account, command, read(given, id ?? ''))
        if (waits !== undefined) return seeOther(`${view.root}staff?waits`)
        if (!isSecret) return seeOther(`${view.root}staff`)
        return page(request, 200, resultPage(view, { result, back: 'staff' }))
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
        return show(request, person, error.detail, given)
      }
    })
  return [
    staffRoute(frame, 'staff', 'GET', '/staff', (request, person) => show(request, person)),
    form(
      'invite',
      'staff invite',
      (given) => ({ email: given('email').trim(), name: given('name').trim(), role: given('role') }),
      true,
    ),
    form(
      'impersonate',
      'impersonate',
      (given) => ({ partner: given('partner').trim(), minutes: given('minutes').trim(), note: noteOf(given) }),
      true,
    ),
    form('{id}/role', 'staff role', (given, id) => ({ id, role: given('role'), note: noteOf(given) })),
    form('{id}/sessions', 'staff end-sessions', (given, id) => ({ id, note: noteOf(given) })),
    form('{id}/remove', 'staff remove', (given, id) => ({ id, note: noteOf(given) })),
  ]
}
