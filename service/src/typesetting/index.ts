/**
 * Typesetting: account documents, letters and receipts as PDF. A page is written as soon as it is full, so that memory does not
 * grow with the document. The same input gives the same bytes, without the time of the run or random ids.
 */
export { letterPdf } from './letter-pdf.ts'
export type { DocumentBrand } from './sheet.ts'
export { type ReceiptDocument, receiptPdf } from './receipt-pdf.ts'
export { type AccountDocument, accountPdf, type DocumentRow, type DocumentSection } from './account-pdf.ts'
