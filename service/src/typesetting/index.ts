/**
 * Typesetting: account documents as PDF, as a bank sends them. A page is written as soon as it is full, so that memory
 * does not grow with the document. The same input gives the same bytes: no time of the run, no random id.
 */
export { type Letter, letterPdf } from './letter-pdf.ts'
export type { DocumentBrand } from './sheet.ts'
export { type ReceiptDocument, receiptPdf } from './receipt-pdf.ts'
export { type AccountDocument, accountPdf, type DocumentRow, type DocumentSection } from './account-pdf.ts'
