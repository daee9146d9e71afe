// Before anything is painted: the theme that this browser was told, or that of the system.
(() => {
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
