// An intrusive list: adding and removing need no memory and cannot fail.
#pragma once

#include <cstddef>

namespace holdfast::core {

template <class Tag>
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  bool linked() const noexcept { return next_ != nullptr; }
  void unlink() noexcept {
    if (!linked()) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = nullptr;
  }

 protected:
  ~Link() = default;

 private:
  template <class T, class U>
  friend class List;
  Link* prev_ = nullptr;
  Link* next_ = nullptr;
};

// T derives from Link<Tag>. To remove elements while walking, take next() first.
template <class T, class Tag>
class List {
 public:
  List() noexcept { root_.prev_ = root_.next_ = &root_; }
  ~List() { root_.prev_ = root_.next_ = nullptr; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const noexcept { return root_.next_ == &root_; }
  T* front() const noexcept { return item(root_.next_); }
  T* next(T& of) const noexcept { return item(static_cast<Link<Tag>&>(of).next_); }
  void push_back(T& element) noexcept {
    Link<Tag>& link = element;
    link.prev_ = root_.prev_;
    link.next_ = &root_;
    root_.prev_->next_ = &link;
    root_.prev_ = &link;
  }
  T* pop_front() noexcept {
    T* first = front();
    if (first) static_cast<Link<Tag>*>(first)->unlink();
    return first;
  }

 private:
  struct Root : Link<Tag> {};
  T* item(Link<Tag>* link) const noexcept {
    return link == &root_ ? nullptr : static_cast<T*>(link);
  }
  Root root_;
};

}  // namespace holdfast::core
