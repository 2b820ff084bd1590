// Shared by all pages: theme, relative times, action buttons, copy buttons, finder and keys.
import { startActions } from "./actions";
import { startCopying } from "./copy";
import { startFinder } from "./finder";
import { startForms } from "./forms";
import { startKeeping } from "./keeping";
import { startKeys } from "./keys";
import { startMenus } from "./menus";
import { startNotices } from "./notices";
import { startTabs } from "./tabs";
import { startTerms } from "./terms";
import { startTheme } from "./theme";
import { startTimes } from "./times";

startTheme();
startTabs();
startTerms();
startTimes();
startCopying();
startActions();
startForms();
startKeeping();
startMenus();
startNotices();
startFinder();
startKeys();
