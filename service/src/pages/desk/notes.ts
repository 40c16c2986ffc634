/** Adds a note about a partner, a customer or a payee. Every staff role may do so. */
import { uuidPattern } from '../../kernel/index.ts'
import { notFound, type PublicRoute } from '../../kernel/api/index.ts'
import { noteSubjectKinds } from '../../people/staff/index.ts'
import { readForm, seeOther, page } from '../kit/request.ts'
import { formPage } from '../kit/forms.ts'
import { customerHref, noteFields, payeeHref } from './parties.ts'
import { type DeskFrame, FieldRefusal, readNote, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

export const noteRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'POST', '/notes', async (request, { view, signed }) => {
    const { db, beneficiaries, customers, partners, staff } = frame
    const form = readForm(request)
    const kind = noteSubjectKinds.find((each) => each === form('kind'))
    const [partnerId, subjectId] = [form('partner'), form('id')]
    if (kind === undefined || !uuidPattern.test(partnerId) || !uuidPattern.test(subjectId)) throw notFound('page')
    // Each call refuses (404) an object that the partner does not have.
    if (kind === 'customer') await customers.find(db, partnerId, subjectId)
    else if (kind === 'payee') {
      if ((await beneficiaries.withIds(partnerId, [subjectId])).length === 0) throw notFound('beneficiary')
    } else if (subjectId !== partnerId || (await partners.byId(db, partnerId)) === undefined) throw notFound('partner')
    const back = { partner: `partners/${partnerId}`, customer: customerHref(partnerId, subjectId) }
    const place = kind === 'payee' ? payeeHref(partnerId, subjectId) : back[kind]
    try {
      await staff.notes.add(signed, { partnerId, kind, subjectId }, readNote(form))
    } catch (error) {
      if (!(error instanceof FieldRefusal)) throw error
      const d = deskTexts[view.language].parties
      const about = { partnerId, kind, subjectId }
      const fields = noteFields(view, about, { typed: form('note'), error: error.detail })
      const given = { title: d.addNote, problems: { note: error.detail }, action: 'notes', fields, submit: d.addNote }
      return page(
        request,
        400,
        formPage(view, { ...given, back: { path: place, text: deskTexts[view.language].act.back } }),
      )
    }
    return seeOther(`${view.root}${place}?noted`)
  }),
]
